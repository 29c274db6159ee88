"""Predictions of bags and of instances, against the formulas."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, logsumexp

from overread.bags import Bags, mean_soft_kl
from overread.errors import InvalidInputError
from overread.models import ROWS_PER_BLOCK, SoftMILLogisticRegression, linear_scores


@pytest.fixture(scope="module")
def model(mil):
    return SoftMILLogisticRegression(alpha=0.01).fit(mil.X, mil.y, bags=mil.ids)


def test_a_model_fitted_with_bags_refuses_to_predict_without(model, mil):
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        with pytest.raises(InvalidInputError, match=r"fitted with bags.*instance_predict_proba"):
            getattr(model, method)(mil.X)
    with pytest.raises(InvalidInputError, match="fitted with bags"):
        model.score(mil.X, mil.y)
    assert len(model.instance_predict_proba(mil.X)) == len(mil.X)


@pytest.mark.parametrize("pooling", ["noisy_or", "noisy_or_mean", "log_sum_exp", "mean"])
def test_bags_by_the_formula(mil, pooling):
    model = SoftMILLogisticRegression(alpha=0.01, pooling=pooling).fit(mil.X, mil.y, bags=mil.ids)
    z = mil.X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.instance_decision_function(mil.X), z, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.instance_predict_proba(mil.X), expit(z), rtol=1e-12)
    expected = {
        "noisy_or": lambda z: 1 - np.prod(1 - expit(z)),
        "noisy_or_mean": lambda z: 1 - np.prod(1 - expit(z)) ** (1 / len(z)),
        "log_sum_exp": lambda z: expit(logsumexp(z) - np.log(len(z))),
        "mean": lambda z: expit(z.mean()),
    }[pooling]
    p = np.array([expected(z[mil.ids == bag]) for bag in np.unique(mil.ids)])
    predicted = model.predict_proba(mil.X, bags=mil.ids)
    np.testing.assert_allclose(predicted[:, 1], p, rtol=1e-11)
    np.testing.assert_allclose(predicted.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(mil.X, bags=mil.ids)), predicted, rtol=1e-12)
    odds = np.log(p / (1 - p))
    np.testing.assert_allclose(model.decision_function(mil.X, bags=mil.ids), odds, rtol=0, atol=1e-9)
    assert model.predict(mil.X, bags=mil.ids).tolist() == (p > 0.5).astype(int).tolist()


def test_far_in_the_tails_the_logarithms_stay_exact(mil):
    model = SoftMILLogisticRegression(alpha=0.01).fit(mil.X[:, :1], (mil.X[:, 0] > 0.3).astype(int))
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    z = np.array([-1e4, -800.0, -40.0, 40.0, 800.0, 1e4])
    expected = np.column_stack([log_expit(-z), log_expit(z)])
    np.testing.assert_allclose(model.predict_log_proba(z[:, None]), expected, rtol=1e-14)
    np.testing.assert_allclose(model.decision_function(z[:, None]), z, rtol=1e-14)


def test_score_is_minus_the_mean_divergence(model, mil):
    y, log_proba = mil.y, model.predict_log_proba(mil.bags)
    weight = 1.0 + np.arange(len(y)) % 2
    assert model.score(mil.bags, y) == -mean_soft_kl(y, log_proba=log_proba)
    assert model.score(mil.X, y, bags=mil.ids) == model.score(mil.bags, y)
    weighed = -mean_soft_kl(y, log_proba=log_proba, sample_weight=weight)
    assert model.score(mil.bags, y, sample_weight=weight) == weighed


def test_wrong_numbers_of_features(model, mil):
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.predict_proba(mil.X[:, :4], bags=mil.ids)
    with pytest.raises(InvalidInputError, match="expecting 6 features"):
        model.predict_proba(Bags.from_ids(mil.X[:, :4], mil.ids))


def test_names_are_forgotten_when_fitted_again_without(mil):
    frame = pd.DataFrame(mil.X, columns=list("abcdef"))
    model = SoftMILLogisticRegression(alpha=0.02).fit(Bags.from_ids(frame, mil.ids), mil.y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert not hasattr(model.fit(mil.bags, mil.y), "feature_names_in_")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_do_not_depend_on_the_block_a_row_is_in(dtype):
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS_PER_BLOCK + 17, 5)).astype(dtype)
    w = np.array([1.0, 0.0, -2.0, 0.0, 0.5])
    scores = linear_scores(X, w, 0.25)
    np.testing.assert_allclose(scores, X.astype(float) @ w + 0.25, rtol=0, atol=1e-14)
    X[:, 1] = np.finfo(dtype).max
    assert linear_scores(X, w, 0.25).tolist() == scores.tolist()
    assert linear_scores(X, np.zeros(5), 0.25).tolist() == [0.25] * len(X)
