"""The soft MIL model in scikit-learn's tools and in ours, on synthetic and on real bags."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import Bags, PerInstance, mean_soft_kl, out_of_fold
from overread.models import SoftMILLogisticRegression


@pytest.fixture
def pipeline():
    return Pipeline(
        [("scale", PerInstance(StandardScaler())), ("model", SoftMILLogisticRegression(alpha=0.01))]
    )


@pytest.fixture
def quarter_problem(soft_problem):
    """Bags whose only labels are 0 and 0.25, which scikit-learn takes for two classes where it can."""
    return soft_problem.with_labels(np.where(soft_problem.labels > 0.4, 0.25, 0.0))


def test_what_the_refusal_prevents(quarter_problem, pipeline):
    """Without carried labels the recoded fit answers 0/1 labels: far above any label it was given."""
    bare = quarter_problem.with_labels(None).with_groups(None)
    y = quarter_problem.labels
    theirs = cross_val_predict(pipeline, bare, y, cv=KFold(3), method="predict_proba")[:, 1]
    ours = out_of_fold(pipeline, bare, y, cv=KFold(3))[:, 1]
    assert ours.mean() == pytest.approx(y.mean(), abs=0.03)
    assert theirs.mean() > 3 * y.mean()
    assert mean_soft_kl(y, theirs) > 4 * mean_soft_kl(y, ours)


@pytest.mark.parametrize(("name", "n_bags", "least_accuracy"), [("musk1", 92, 0.65), ("elephant", 200, 0.75)])
def test_real_bags(shared_data, name, n_bags, least_accuracy):
    with np.load(shared_data / "mil" / f"{name}.npz") as data:
        X, bag, y, folds = data["X"], data["bag"], data["y"], data["folds"][0]
    bags = Bags.from_ids(X, bag)
    assert len(bags) == n_bags
    assert bags.sizes.tolist() == np.bincount(bag).tolist()
    model = SoftMILLogisticRegression(normalization="bags", alpha=0.02)
    proba = out_of_fold(model, bags, y, cv=PredefinedSplit(folds))[:, 1]
    theirs = cross_val_predict(model, bags, y, cv=PredefinedSplit(folds), method="predict_proba")[:, 1]
    np.testing.assert_allclose(proba, theirs, rtol=1e-12)
    assert ((proba > 0.5) == y).mean() > least_accuracy
