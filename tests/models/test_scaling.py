"""Standardization against numpy, also where squares overflow."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models._problem import make_design


def design(X, weight=None, order=None, *, center=True, standardize=True):
    n = len(X)
    order = np.arange(n) if order is None else order
    weight = np.ones(n) if weight is None else weight
    return make_design(X, order, weight, center=center, standardize=standardize)


@pytest.fixture(scope="module", name="X")
def matrix():
    return np.random.default_rng(0).normal(3.0, 2.0, size=(2500, 4))


@pytest.mark.parametrize("memory", ["C", "F"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
def test_mean_deviation_and_norm(X, memory, center, standardize):
    weight = 1.0 + np.arange(len(X)) % 3
    made = design(np.asarray(X, order=memory), weight, center=center, standardize=standardize)
    mean = np.average(X, axis=0, weights=weight) if center else np.zeros(4)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight)) if standardize else np.ones(4)
    np.testing.assert_allclose(made.center, mean, rtol=1e-12)
    np.testing.assert_allclose(made.scale, scale, rtol=1e-12)
    np.testing.assert_allclose(made.columns.Xt, ((X - mean) / scale).T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(made.norms, np.linalg.norm(made.columns.Xt, axis=1), rtol=1e-12)


def test_the_order_of_the_rows(X):
    order = np.random.default_rng(1).permutation(len(X))
    for memory in ("C", "F"):
        made = design(np.asarray(X, order=memory), order=order)
        np.testing.assert_allclose(made.columns.Xt, design(X).columns.Xt[:, order], rtol=0, atol=1e-12)


def test_the_input_is_left_alone(X):
    before = X.copy()
    design(X)
    assert (before == X).all()


def test_there_and_back(X):
    made = design(X)
    w, b = np.array([1.0, -2.0, 0.0, 0.5]), 0.7
    coefficients, intercept = made.to_user(w, b)
    np.testing.assert_allclose(X @ coefficients + intercept, w @ made.columns.Xt + b, rtol=0, atol=1e-12)
    again, b_again = made.from_user(coefficients, intercept)
    np.testing.assert_allclose(again, w, rtol=1e-14)
    assert b_again == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("exponent", [-1000, -500, 500, 1000])
def test_powers_of_two_change_nothing_but_the_scale(X, exponent):
    plain, scaled = design(X), design(np.ldexp(X, exponent))
    assert scaled.columns.Xt.tobytes() == plain.columns.Xt.tobytes()
    assert scaled.scale.tolist() == np.ldexp(plain.scale, exponent).tolist()


def test_columns_that_do_not_vary(X):
    X = X.copy()
    X[:, 0], X[:, 1], X[:, 2] = 0.1, 0.0, 1e-310
    made = design(X)
    assert made.scale[:3].tolist() == [0, 0, 0]
    assert not made.columns.Xt[:3].any()
    assert made.vanishing.tolist() == [2]
    assert made.to_user(np.ones(4), 0.0)[0][:3].tolist() == [0, 0, 0]


def test_unscaled_values_that_would_overflow(X):
    X = X.copy()
    X[5, 1] = 1e16
    with pytest.raises(InvalidInputError, match=r"column 1 of X reaches 1e\+16.*standardize=True"):
        design(X, standardize=False)
    assert np.isfinite(design(X).columns.Xt).all()
