"""The model inside scikit-learn's tools: cross-validation, search, pipelines, several processes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import Bags, PerInstance, SoftStratifiedGroupKFold, out_of_fold, soft_kl_scorer
from overread.errors import InvalidInputError
from overread.models import SoftMILLogisticRegression

MODEL = SoftMILLogisticRegression(alpha=0.02)


def by_hand(problem, splits):
    """Fit and score each fold without scikit-learn."""
    bags = problem.bags
    scores = []
    for train, test in splits:
        model = SoftMILLogisticRegression(alpha=0.02).fit(bags[train], problem.y[train])
        scores.append(model.score(bags[test], problem.y[test]))
    return scores


def test_cross_val_score(mil):
    folds = KFold(4)
    scores = cross_val_score(MODEL, mil.bags, mil.y, cv=folds)
    assert scores.tolist() == by_hand(mil, folds.split(mil.y))
    same = cross_val_score(MODEL, mil.bags, mil.y, cv=folds, scoring=soft_kl_scorer)
    assert same.tolist() == scores.tolist()


def test_two_processes_give_the_same(mil):
    scores = cross_val_score(MODEL, mil.bags, mil.y, cv=KFold(4), n_jobs=2)
    assert scores.tolist() == by_hand(mil, KFold(4).split(mil.y))


def test_several_metrics(mil):
    hard = (mil.y > 0).astype(int)
    scoring = {"auc": "roc_auc", "loss": "neg_log_loss", "soft": soft_kl_scorer, "accuracy": "accuracy"}
    found = cross_validate(MODEL, mil.bags, hard, cv=4, scoring=scoring, return_estimator=True)
    np.testing.assert_allclose(found["test_loss"], found["test_soft"], rtol=1e-9)
    assert all(len(model.predict_proba(mil.bags)) == len(hard) for model in found["estimator"])
    assert (found["test_auc"] > 0.5).all()


def test_grid_search_and_groups(make_mil):
    mil = make_mil(200, seed=2)
    groups = np.arange(len(mil.y)) // 3
    grid = GridSearchCV(
        SoftMILLogisticRegression(),
        {"alpha": [0.005, 0.05, 10.0], "normalization": ["bags", "class"]},
        cv=SoftStratifiedGroupKFold(3),
    )
    grid.fit(mil.bags.with_groups(groups), mil.y, groups=groups)
    assert grid.best_params_["alpha"] < 10.0
    assert grid.best_estimator_.fit_report_.converged
    assert grid.score(mil.bags, mil.y) == grid.best_estimator_.score(mil.bags, mil.y)
    plain = GridSearchCV(SoftMILLogisticRegression(), {"alpha": [0.02]}, cv=GroupKFold(3), n_jobs=2)
    assert np.isfinite(plain.fit(mil.bags, mil.y, groups=groups).best_score_)


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


def test_train_test_split(mil):
    train, test, y_train, y_test = train_test_split(mil.bags, mil.y, test_size=0.3, random_state=0)
    model = SoftMILLogisticRegression(alpha=0.02).fit(train, y_train)
    assert model.predict_proba(test).shape == (len(y_test), 2)
    assert np.isfinite(model.score(test, y_test))


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


def test_out_of_fold_hard_labels_agree_with_scikit_learn(mil):
    hard = (mil.y > 0).astype(int)
    theirs = cross_val_predict(MODEL, mil.bags, hard, cv=KFold(4), method="predict_proba")
    assert out_of_fold(MODEL, mil.bags, hard, cv=KFold(4)).tolist() == theirs.tolist()
    assert roc_auc_score(hard, theirs[:, 1]) > 0.5
    scorer = make_scorer(roc_auc_score, response_method="decision_function")
    assert np.isfinite(cross_val_score(MODEL, mil.bags, hard, cv=4, scoring=scorer)).all()
