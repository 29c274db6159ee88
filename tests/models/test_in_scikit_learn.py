"""The model in a pipeline and a search, and labels that scikit-learn recodes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import Bags, PerInstance, out_of_fold
from overread.errors import InvalidInputError
from overread.models import SoftMILLogisticRegression

MODEL = SoftMILLogisticRegression(alpha=0.02)


def test_pipeline(mil):
    names = [f"x{j}" for j in range(mil.X.shape[1])]
    frame = pd.DataFrame(1000 * mil.X + 7, columns=names)
    bags = Bags.from_ids(frame, mil.ids)
    pipeline = make_pipeline(
        PerInstance(StandardScaler()), SoftMILLogisticRegression(alpha=0.02, standardize=False, tol=1e-10)
    )
    pipeline.fit(bags, mil.y)
    direct = SoftMILLogisticRegression(alpha=0.02, tol=1e-10).fit(bags, mil.y)
    np.testing.assert_allclose(pipeline.predict_proba(bags), direct.predict_proba(bags), rtol=0, atol=1e-8)
    assert pipeline[-1].feature_names_in_.tolist() == names
    assert len(cross_val_score(pipeline, bags, mil.y, cv=KFold(3))) == 3
    search = GridSearchCV(pipeline, {"softmillogisticregression__alpha": [0.01, 0.1]}, cv=KFold(3))
    assert np.isfinite(search.fit(bags, mil.y).best_score_)


def test_recoded_soft_labels_are_noticed(mil):
    """scikit-learn's cross_val_predict turns {0, .25} into {0, 1} before `fit`."""
    y = np.where(mil.y > 0, 0.25, 0.0)
    carrying = mil.bags.with_labels(y)
    with pytest.raises(InvalidInputError, match="recodes soft labels: use overread"):
        cross_val_predict(MODEL, carrying, y, cv=KFold(3), method="predict_proba")
    ours = out_of_fold(MODEL, carrying, y, cv=KFold(3))
    assert ours.shape == (len(y), 2)
    assert ours[:, 1].mean() == pytest.approx(y.mean(), rel=0.5)
    with pytest.raises(InvalidInputError, match="y differs from the labels"):
        MODEL.fit(carrying, (y > 0).astype(int))
