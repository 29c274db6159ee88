"""Calibration against scikit-learn: on hard labels, and on soft ones written as two weighted copies."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from overread.bags import (
    CalibratedSoftClassifier,
    PerInstance,
    SoftCalibrator,
    SoftStratifiedGroupKFold,
    mean_soft_kl,
    out_of_fold,
)
from overread.errors import InvalidInputError, NotConvergedError


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    f = 3 * rng.normal(size=300)
    y = np.round(5 * expit(0.7 * f - 1 + rng.normal(size=300))) / 5
    w = rng.integers(1, 4, 300).astype(float)
    return f, y, w


def two_copies(f, y, w):
    """Soft label y: once positive with weight w y, once negative with weight w (1 - y)."""
    return np.tile(f, 2), np.repeat([1, 0], len(f)), np.concatenate([w * y, w * (1 - y)])


def test_plain_sigmoid_is_unpenalized_logistic_regression(scores):
    f, y, w = scores
    ours = SoftCalibrator(smooth=False).fit(f, y, sample_weight=w)
    copies, labels, weights = two_copies(f, y, w)
    theirs = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    theirs.fit(copies[:, None], labels, sample_weight=weights)
    assert ours.slope_ == pytest.approx(theirs.coef_[0, 0], rel=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_[0], rel=1e-9)
    np.testing.assert_allclose(ours.predict(f), theirs.predict_proba(f[:, None])[:, 1], rtol=1e-9)


class Identity(LogisticRegression):
    """A fitted classifier whose decision is the feature itself, for scikit-learn's calibration to work on."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 1
        return self

    def decision_function(self, X):
        return X[:, 0]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_soft_labels_are_scikit_learns_calibration_of_two_copies(scores, method):
    f, y, w = scores
    ours = SoftCalibrator(method).fit(f, y, sample_weight=w)
    copies, labels, weights = two_copies(f, y, w)
    everything = np.arange(len(copies))
    theirs = CalibratedClassifierCV(Identity(), method=method, cv=[(everything, everything)])
    theirs.fit(copies[:, None], labels, sample_weight=weights)
    grid = np.linspace(-12, 12, 101)
    np.testing.assert_allclose(ours.predict(grid), theirs.predict_proba(grid[:, None])[:, 1], atol=2e-5)


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_scale_and_shift_of_decisions_do_not_matter(scores, scale):
    f, y, w = scores
    expected = SoftCalibrator().fit(f, y, sample_weight=w).predict(f)
    found = SoftCalibrator().fit((f + 2) * scale, y, sample_weight=w).predict((f + 2) * scale)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_separable_constant_and_one_sided_input():
    separable = SoftCalibrator().fit([-1.0, 1.0], [0, 1])
    assert 0 < separable.predict([-1.0])[0] < separable.predict([1.0])[0] < 1
    constant = SoftCalibrator(smooth=False).fit([2.0, 2.0, 2.0], [0, 0.25, 0.5])
    assert constant.slope_ == pytest.approx(0, abs=1e-12)
    assert constant.predict([2.0])[0] == pytest.approx(0.25)
    assert SoftCalibrator().fit([1.0, 2.0], [0, 0]).predict([1.0])[0] == pytest.approx(0.25)
    with pytest.raises(InvalidInputError, match="smooth=True"):
        SoftCalibrator(smooth=False).fit([1.0, 2.0], [0, 0])
    with pytest.raises(NotConvergedError, match="separable"):
        SoftCalibrator(smooth=False).fit([-1.0, 1.0], [0, 1])


def test_calibrator_refusals():
    with pytest.raises(InvalidInputError, match="method must be"):
        SoftCalibrator("beta").fit([1.0, 2.0], [0, 1])
    with pytest.raises(InvalidInputError, match="decision value 1 is nan"):
        SoftCalibrator().fit([1.0, np.nan], [0, 1])
    with pytest.raises(InvalidInputError, match="vector"):
        SoftCalibrator().fit([[1.0, 2.0]], [0, 1])
    with pytest.raises(ValueError, match="inconsistent"):
        SoftCalibrator().fit([1.0, 2.0, 3.0], [0, 1])
    with pytest.raises(InvalidInputError, match=r"sample_weight\[0\]"):
        SoftCalibrator().fit([1.0, 2.0], [0, 1], sample_weight=[-1, 1])
    with pytest.raises(NotFittedError):
        SoftCalibrator().predict([1.0])


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_wrapper_is_scikit_learns_without_ensemble_on_hard_labels(method):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0.5, "yes", "no")
    splits = list(StratifiedKFold(4).split(X, y))
    model = LinearSVC()
    ours = CalibratedSoftClassifier(model, method=method, cv=splits).fit(X, y)
    theirs = CalibratedClassifierCV(model, method=method, cv=splits, ensemble=False).fit(X, y)
    assert ours.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    np.testing.assert_array_equal(ours.predict(X), ours.classes_[ours.predict_proba(X).argmax(axis=1)])


def test_wrapper_on_bags_with_soft_labels(soft_problem, bag_mean_logistic):
    pipeline = make_pipeline(PerInstance(StandardScaler()), bag_mean_logistic(ridge=300.0))
    train, test = next(SoftStratifiedGroupKFold(3).split(soft_problem))
    plain = clone(pipeline).fit(soft_problem[train], soft_problem.labels[train])
    fitted = CalibratedSoftClassifier(pipeline, cv=4).fit(soft_problem[train], soft_problem.labels[train])
    decision = out_of_fold(pipeline, soft_problem[train], cv=4, method="decision_function")
    by_hand = SoftCalibrator().fit(decision, soft_problem.labels[train])
    assert fitted.calibrator_.slope_ == by_hand.slope_
    np.testing.assert_array_equal(
        fitted.decision_function(soft_problem[test]), plain.decision_function(soft_problem[test])
    )
    labels = soft_problem.labels[test]
    # the strong ridge makes the plain model far too timid; calibration must mend that on unseen patients
    assert fitted.score(soft_problem[test], labels) > plain.score(soft_problem[test], labels)
    assert fitted.score(soft_problem[test], labels) == -mean_soft_kl(
        labels, fitted.predict_proba(soft_problem[test])
    )
    assert clone(fitted).get_params()["estimator__bagmeanlogistic__ridge"] == 300.0


def test_wrapper_passes_weights(soft_problem, bag_mean_logistic):
    weight = np.random.default_rng(0).integers(1, 3, 120)
    fitted = CalibratedSoftClassifier(bag_mean_logistic(), cv=3)
    fitted.fit(soft_problem, soft_problem.labels, sample_weight=weight)
    direct = bag_mean_logistic().fit(soft_problem, soft_problem.labels, sample_weight=weight)
    np.testing.assert_array_equal(fitted.estimator_.theta_, direct.theta_)
