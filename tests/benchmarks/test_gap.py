"""The measure the benchmarks rest on: exact on a problem solved by hand, and never below the truth."""

import numpy as np
import pytest
from benchmarks.gap import duality_gap, objective, relative_gap
from benchmarks.problem import generate, lambda_path
from benchmarks.reference import solve_path
from scipy.optimize import minimize, minimize_scalar


def by_hand(lam):
    """One feature -1/+1, eight rows of which one and three are positive: w and b solve two equations.

    With w > 0 and the group means m- and m+ of the fitted probability, the gradient in b gives m- + m+ = 1/4 + 3/4
    and that in w gives (3/4 - m+) / 2 - (1/4 - m-) / 2 = lam, so m+ = 3/4 - lam and m- = 1/4 + lam.
    """
    X = np.repeat([[-1.0], [1.0]], 4, axis=0)
    p = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    logit = np.log((0.75 - lam) / (0.25 + lam))
    return X, p, np.full(8, 1 / 8), np.array([[logit]]), np.zeros(1)


@pytest.mark.parametrize("lam", [0.01, 0.1, 0.2])
def test_gap_vanishes_at_the_solution_found_by_hand(lam):
    X, p, omega, W, b = by_hand(lam)
    gap = duality_gap(X, p, omega, np.array([lam]), W, b)
    z = np.array([-W[0, 0], W[0, 0]])
    value = (
        np.mean([np.logaddexp(0, z[0]) - 0.25 * z[0], np.logaddexp(0, z[1]) - 0.75 * z[1]]) + lam * W[0, 0]
    )
    assert gap.primal[0] == pytest.approx(value, rel=1e-14)
    assert abs(gap.relative[0]) < 1e-13


def test_gap_is_at_least_the_distance_to_the_minimum():
    X, p, omega, W, b = by_hand(0.1)
    best = objective(X, p, omega, np.array([0.1]), W, b)[0]
    for dw, db in [(0.3, 0.0), (-0.2, 0.1), (0.0, -0.4)]:
        gap = duality_gap(X, p, omega, np.array([0.1]), W + dw, b + db)
        assert gap.dual[0] <= best * (1 + 1e-14) <= gap.primal[0]
        assert gap.relative[0] >= relative_gap(gap.primal, np.array([best]))[0] - 1e-14 > 0


def test_gap_of_the_elastic_net_on_one_feature():
    """The minimum over w alone (b = 0 by symmetry) by search; the gap vanishes there and bounds the rest from above."""
    X, p, omega, _, b = by_hand(0.1)
    lam, l1_ratio = np.array([0.1]), 0.6

    def value(w):
        z = X[:, 0] * w
        return omega @ (np.logaddexp(0, z) - p * z) + 0.1 * (l1_ratio * abs(w) + (1 - l1_ratio) / 2 * w**2)

    best = minimize_scalar(value, bounds=(0.0, 3.0), method="bounded", options={"xatol": 1e-12})
    gap = duality_gap(X, p, omega, lam, np.array([[best.x]]), b, l1_ratio=l1_ratio)
    assert gap.primal[0] == pytest.approx(best.fun, rel=1e-14)
    assert abs(gap.relative[0]) < 1e-12
    for dw, db in [(0.3, 0.0), (-0.2, 0.1), (0.0, -0.4)]:
        gap = duality_gap(X, p, omega, lam, np.array([[best.x + dw]]), b + db, l1_ratio=l1_ratio)
        assert gap.dual[0] <= best.fun * (1 + 1e-14) <= gap.primal[0]


def test_reference_is_certified_and_agrees_with_a_general_minimizer():
    data = generate(400, 70, seed=3, positives=0.2)
    X = data.X.astype(np.float64)
    p, omega = data.labels("soft")
    lambdas = lambda_path(X, p, omega, end=0.1, count=4)
    W, b = solve_path(X, p, omega, lambdas)
    gap = duality_gap(X, p, omega, lambdas, W, b)
    assert gap.relative.max() < 1e-9
    found = split_minimum(X, p, omega, lambdas[-1])
    assert found == pytest.approx(gap.primal[-1], rel=1e-6)


def split_minimum(X, p, omega, lam):
    """Minimum by L-BFGS-B with w = u - v, u and v not negative."""
    d = X.shape[1]

    def value(v):
        w, b = v[:d] - v[d : 2 * d], v[-1]
        return objective(X, p, omega, np.array([lam]), w[:, None], np.array([b]))[0]

    def slope(v):
        z = X @ (v[:d] - v[d : 2 * d]) + v[-1]
        r = omega * (1 / (1 + np.exp(-z)) - p)
        return np.concatenate([X.T @ r + lam, lam - X.T @ r, [r.sum()]])

    bounds = [(0, None)] * (2 * d) + [(None, None)]
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(
        value, np.zeros(2 * d + 1), jac=slope, bounds=bounds, method="L-BFGS-B", options=options
    ).fun


def test_problem_is_seeded_and_as_described():
    a, b = (generate(1_000, 80, seed=5, positives=0.05) for _ in range(2))
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_allclose(a.X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(a.X.std(axis=0), 1, atol=1e-4)
    sizes = np.diff(a.offsets)
    assert a.X.flags.f_contiguous
    assert a.offsets[-1] == 1_000
    assert sizes.max() <= 8
    assert np.all(sizes[a.bag_labels() == 0] == 1)
    assert 0.05 <= np.mean(a.soft > 0) < 0.06
