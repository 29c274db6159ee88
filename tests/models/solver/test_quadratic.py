"""The bound from below against the independent one of the benchmarks, and its shift of the scores."""

import numpy as np
import pytest
from tests.models.solver.problems import draw, solver_at_zero

from benchmarks import gap
from overread.models import L1, ElasticNet
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.solver._kernels import coordinate_descent
from overread.models.solver._quadratic import balance, lower_bound, minimize_model


def make_model(m=12, correlation=0.0, seed=3):
    random = np.random.default_rng(seed)
    root = (1 - correlation) * random.standard_normal((m, 2 * m)) + correlation * random.standard_normal(
        2 * m
    )
    kinks = np.append(np.full(m - 1, 0.4), 0.0)
    return root @ root.T, random.standard_normal(m), random.standard_normal(m), kinks


def assert_minimal(H, g, w, kinks, step, tolerance):
    slope, moved = g + H @ step, w + step
    active = moved != 0
    assert np.abs((slope + kinks * np.sign(moved))[active]).max() <= tolerance
    assert (np.abs(slope[~active]) <= kinks[~active] + tolerance).all()


def test_coordinate_descent_alone():
    H, g, w, kinks = make_model()
    step, slope = np.zeros(12), g.copy()
    assert coordinate_descent(H, w, kinks, step, slope, 1e-12, 10_000) > 0
    np.testing.assert_allclose(slope, g + H @ step, atol=1e-10)
    assert_minimal(H, g, w, kinks, step, 1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.9, 0.999])
@pytest.mark.parametrize("m", [1, 2, 12, 80])
def test_the_minimum_in_few_sweeps_however_correlated(correlation, m):
    for seed in range(5):
        H, g, w, kinks = make_model(m, correlation, seed)
        step, sweeps = minimize_model(H, g, w, kinks, 1e-6)
        assert_minimal(H, g, w, kinks, step, 1e-5)
        assert sweeps <= 500


def test_dependent_columns():
    """Twice the same columns: there are many minima, and one of them is found."""
    H, g, w, _ = make_model()
    twice = (np.tile(H, (2, 2)), np.tile(g, 2), np.tile(w, 2), np.full(24, 0.4))
    step, _ = minimize_model(*twice, 1e-9)
    assert_minimal(*twice, step, 1e-7)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-7])
def test_the_same_bound_as_the_benchmarks(l1_ratio, tol):
    Xt, loss = draw()
    solver = solver_at_zero(Xt, loss, penalty=ElasticNet(l1_ratio))
    alpha = 0.2 * solver.alpha_max
    solution = solver.solve(alpha, tol=tol, max_iter=50)
    X, label, weight = Xt.T, loss.plain_label, loss.plain_weight
    peer = gap.duality_gap(
        X, label, weight, np.array([alpha]), solution.w[:, None], np.array([solution.b]), l1_ratio=l1_ratio
    )
    assert solution.gap == pytest.approx(peer.relative[0], rel=1e-3, abs=1e-12)


def test_any_point_of_the_dual_is_below_any_point_of_the_primal():
    Xt, loss = draw(bag_size=1)
    random = np.random.default_rng(0)
    alpha = 0.1 * solver_at_zero(Xt, loss).alpha_max
    values, bounds = [], []
    for size in (0.01, 0.1, 1.0):
        w, b = size * random.standard_normal(len(Xt)), random.normal() - 2
        residual, z = np.empty(loss.n_rows), w @ Xt + b
        values.append(loss.value(z, residual) + alpha * np.abs(w).sum())
        even = balance(loss, z, residual)
        assert abs(even.sum()) <= 1e-12
        bounds.append(lower_bound(loss, even, L1(), Xt @ even, alpha))
    assert max(bounds) <= min(values)


def test_the_mean_of_scores_is_logistic_regression_of_the_mean_rows():
    random = np.random.default_rng(1)
    offsets, label = np.arange(0, 301, 3), random.random(100)
    Xt = random.standard_normal((5, 300))
    loss = BagLoss.build(offsets, label, np.full(100, 0.01), POOLINGS["mean"])
    single = BagLoss.build(np.arange(101), label, np.full(100, 0.01), POOLINGS["noisy_or"])
    means = np.add.reduceat(Xt[:, loss.order], offsets[:-1], axis=1) / 3
    pairs = []
    for columns, its in ((np.ascontiguousarray(Xt[:, loss.order]), loss), (means, single)):
        solver = solver_at_zero(columns, its)
        pairs.append(solver.solve(0.3 * solver.alpha_max, tol=1e-7, max_iter=50))
    assert pairs[0].objective == pytest.approx(pairs[1].objective, rel=1e-9)
    assert max(pair.gap for pair in pairs) <= 1e-7


def test_labels_with_no_finite_minimum_have_no_bound():
    loss = BagLoss.build(np.arange(11), np.zeros(10), np.full(10, 0.1), POOLINGS["noisy_or"])
    z, residual = np.full(10, -50.0), np.empty(10)
    loss.value(z, residual)
    assert balance(loss, z, residual) is None
