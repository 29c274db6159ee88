"""The soft MIL model in scikit-learn's tools and in ours, on synthetic and on real bags."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from overread.bags import (
    Bags,
    CalibratedSoftClassifier,
    PerInstance,
    SoftStratifiedGroupKFold,
    make_bags,
    mean_soft_kl,
    out_of_fold,
    score_table,
    soft_kl_scorer,
)
from overread.errors import InvalidInputError
from overread.models import SoftMILLogisticRegression


@pytest.fixture
def model():
    return SoftMILLogisticRegression(alpha=0.01)


@pytest.fixture
def pipeline(model):
    return Pipeline([("scale", PerInstance(StandardScaler())), ("model", model)])


@pytest.fixture
def quarter_problem(soft_problem):
    """Bags whose only labels are 0 and 0.25, which scikit-learn takes for two classes where it can."""
    return soft_problem.with_labels(np.where(soft_problem.labels > 0.4, 0.25, 0.0))


def test_cross_validation_is_the_plain_loop(soft_problem, pipeline):
    cv = SoftStratifiedGroupKFold(3)
    found = cross_validate(
        pipeline,
        soft_problem,
        soft_problem.labels,
        cv=cv,
        scoring={"soft_kl": soft_kl_scorer, "own": lambda model, X, y: model.score(X, y)},
    )
    expected = []
    for train, test in cv.split(soft_problem):
        fitted = clone(pipeline).fit(soft_problem[train], soft_problem.labels[train])
        expected.append(-mean_soft_kl(soft_problem.labels[test], fitted.predict_proba(soft_problem[test])))
    np.testing.assert_allclose(found["test_soft_kl"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["test_own"], expected, rtol=1e-12)
    np.testing.assert_allclose(cross_val_score(pipeline, soft_problem, soft_problem.labels, cv=cv), expected)


def test_grid_search_prefers_a_useful_penalty(soft_problem, pipeline):
    search = GridSearchCV(
        pipeline,
        {"model__alpha": [1.0, 0.01], "model__pooling": ["noisy_or", "mean"]},
        cv=SoftStratifiedGroupKFold(3),
        scoring={"soft_kl": soft_kl_scorer},
        refit="soft_kl",
    )
    search.fit(soft_problem, soft_problem.labels)
    assert search.best_params_["model__alpha"] == 0.01
    assert search.best_score_ > np.max(search.cv_results_["mean_test_soft_kl"][:2])
    assert search.predict_proba(soft_problem).shape == (120, 2)


def test_train_test_split(soft_problem, model):
    train, test, y_train, y_test = train_test_split(soft_problem, soft_problem.labels, random_state=0)
    assert model.fit(train, y_train).score(test, y_test) > -0.3


def test_recoded_soft_labels_are_refused(quarter_problem, pipeline):
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        with pytest.raises(InvalidInputError, match=r"overread\.bags\.out_of_fold"):
            cross_val_predict(pipeline, quarter_problem, quarter_problem.labels, cv=KFold(3), method=method)


def test_what_the_refusal_prevents(quarter_problem, pipeline):
    """Without carried labels the recoded fit answers 0/1 labels: far above any label it was given."""
    bare = quarter_problem.with_labels(None).with_groups(None)
    y = quarter_problem.labels
    theirs = cross_val_predict(pipeline, bare, y, cv=KFold(3), method="predict_proba")[:, 1]
    ours = out_of_fold(pipeline, bare, y, cv=KFold(3))[:, 1]
    assert ours.mean() == pytest.approx(y.mean(), abs=0.03)
    assert theirs.mean() > 3 * y.mean()
    assert mean_soft_kl(y, theirs) > 4 * mean_soft_kl(y, ours)


def test_class_labels_pass_through_cross_val_predict(soft_problem, pipeline):
    bags = soft_problem.with_labels(None).with_groups(None)
    y = np.where(soft_problem.labels > 0.4, "yes", "no")
    theirs = cross_val_predict(pipeline, bags, y, cv=KFold(3), method="predict_proba")
    np.testing.assert_allclose(theirs, out_of_fold(pipeline, bags, y, cv=KFold(3)), rtol=1e-12)


def test_weights_reach_the_model(soft_problem, pipeline):
    weight = np.arange(120) % 3
    found = cross_val_score(
        pipeline,
        soft_problem,
        soft_problem.labels,
        cv=KFold(2),
        params={"model__reader_weight": weight / 2, "model__sample_weight": weight + 1},
    )
    train, test = next(KFold(2).split(soft_problem))
    fitted = clone(pipeline).fit(
        soft_problem[train],
        soft_problem.labels[train],
        model__reader_weight=weight[train] / 2,
        model__sample_weight=weight[train] + 1,
    )
    assert found[0] == fitted.score(soft_problem[test], soft_problem.labels[test])


def test_calibration_of_an_overpenalized_model(soft_problem):
    train, test = next(SoftStratifiedGroupKFold(3).split(soft_problem))
    timid = SoftMILLogisticRegression(alpha=0.1)
    plain = clone(timid).fit(soft_problem[train], soft_problem.labels[train])
    calibrated = CalibratedSoftClassifier(timid, cv=4).fit(soft_problem[train], soft_problem.labels[train])
    labels = soft_problem.labels[test]
    assert calibrated.score(soft_problem[test], labels) > plain.score(soft_problem[test], labels)


def test_instance_scores_out_of_fold_lead_back_to_candidates(model):
    rng = np.random.default_rng(0)
    candidates = pd.DataFrame(
        {
            "image_id": np.repeat([f"{n:02d}" for n in range(30)], 6),
            "candidate_id": np.tile([str(n) for n in range(6)], 30),
            "x_mm": rng.uniform(0, 100, 180),
            "y_mm": rng.uniform(0, 100, 180),
        }
    )
    truth = candidates.groupby("image_id", as_index=False).first().iloc[::2]
    truth = truth.rename(columns={"candidate_id": "truth_id"}).assign(
        semi_major_mm=8.0, semi_minor_mm=6.0, angle_deg=0.0, probability=0.6, golden=True
    )
    near = candidates["image_id"].isin(truth["image_id"]) & (candidates["candidate_id"] == "0")
    features = candidates[["image_id", "candidate_id"]].assign(
        signal=near * 2.0 + rng.normal(size=180), noise=rng.normal(size=180)
    )
    bags = make_bags(candidates, features, truth)
    scores = out_of_fold(model, bags, cv=3, method="instance_predict_proba", level="instances")
    table = candidates.merge(score_table(bags, soft=scores))
    assert len(table) == 180
    assert table.loc[near, "soft"].mean() > 2 * table.loc[~near, "soft"].mean()


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
