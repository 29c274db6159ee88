from __future__ import annotations

import numpy as np
import pytest
from problems import draw, exact_gradient, solver_at_zero

from overread.models import ElasticNet
from overread.models.penalties.l1 import L1
from overread.models.solver._kernels import coordinate_descent


def optimality(Xt, loss, solution, lam, *, l1_ratio=1.0, fit_intercept=True):
    """Largest violation of the optimality conditions of L1 or the elastic net, from the definition."""
    g, g0 = exact_gradient(Xt, loss, solution.w, solution.b)
    active = solution.w != 0
    l1, ridge = lam * l1_ratio, lam * (1 - l1_ratio)
    worst = np.abs(g + ridge * solution.w + l1 * np.sign(solution.w))[active].max(initial=0.0)
    worst = max(worst, (np.abs(g[~active]) - l1).max(initial=0.0))
    return max(worst, abs(g0)) if fit_intercept else worst


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.05])
@pytest.mark.parametrize("bag_size", [1, 4])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solutions_are_stationary(l1_ratio, bag_size, fit_intercept, dtype):
    Xt, loss = draw(bag_size=bag_size, dtype=dtype)
    penalty = L1() if l1_ratio == 1 else ElasticNet(l1_ratio)
    solver = solver_at_zero(Xt, loss, penalty=penalty, fit_intercept=fit_intercept)
    largest = solver.lambda_max
    for fraction in (0.9, 0.5, 0.2, 0.05):
        lam = fraction * largest
        solution = solver.solve(lam, tol=1e-8, max_iter=100)
        assert solution.converged
        violation = optimality(Xt, loss, solution, lam, l1_ratio=l1_ratio, fit_intercept=fit_intercept)
        assert violation <= 2e-8 * lam * l1_ratio


@pytest.mark.parametrize("l1_ratio", [1.0, 0.3])
def test_the_certificate_says_what_holds(l1_ratio):
    Xt, loss = draw(bag_size=3)
    solver = solver_at_zero(Xt, loss, penalty=ElasticNet(l1_ratio))
    lam = 0.1 * solver.lambda_max
    solution = solver.solve(lam, tol=1e-9, max_iter=100)
    residual = np.empty(loss.n_rows)
    value = loss.value(solution.w @ Xt + solution.b, residual)
    assert solution.loss == pytest.approx(value, rel=1e-12)
    w = solution.w
    penalty = l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * w @ w
    assert solution.objective == pytest.approx(value + lam * penalty, rel=1e-12)
    violation = optimality(Xt, loss, solution, lam, l1_ratio=l1_ratio) / (l1_ratio * lam)
    assert solution.relative_violation == pytest.approx(violation, abs=1e-10)


def test_lambda_max_is_where_the_first_feature_enters():
    Xt, loss = draw()
    solver = solver_at_zero(Xt, loss)
    largest = solver.lambda_max
    assert not solver.solve(largest, tol=1e-9, max_iter=50).w.any()
    assert np.count_nonzero(solver.solve(0.999 * largest, tol=1e-9, max_iter=50).w) == 1


def test_sampled_curvature_changes_the_way_and_not_the_answer():
    Xt, loss = draw(n_rows=20_000, n_columns=40)
    answers = []
    for seed in (0, 1):
        solver = solver_at_zero(Xt, loss, seed=seed)
        solver.solve(0.3 * solver.lambda_max, tol=1e-10, max_iter=100)
        answers.append(solver.solve(0.1 * solver_at_zero(Xt, loss).lambda_max, tol=1e-10, max_iter=100))
        assert answers[-1].converged
    np.testing.assert_allclose(answers[0].w, answers[1].w, atol=1e-8)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.7])
def test_columns_are_skipped_only_when_they_cannot_violate(l1_ratio):
    Xt, loss = draw(n_rows=1000, n_columns=200, bag_size=2)
    solver = solver_at_zero(Xt, loss, penalty=ElasticNet(l1_ratio))
    lambdas = solver.lambda_max * np.geomspace(1, 0.05, 12)
    for lam in lambdas:
        solution = solver.solve(lam, tol=1e-8, max_iter=100)
        assert optimality(Xt, loss, solution, lam, l1_ratio=l1_ratio) <= 2e-8 * lam * l1_ratio
    assert solver.counters.columns_skipped > 0
    assert solver.counters.columns_checked / 200 <= len(lambdas) + 5


def test_no_steps_allowed_means_not_converged_and_nothing_moved():
    Xt, loss = draw()
    solver = solver_at_zero(Xt, loss)
    solution = solver.solve(0.1 * solver.lambda_max, tol=1e-6, max_iter=0)
    assert not solution.converged
    assert not solution.w.any()


def test_coordinate_descent_solves_the_quadratic_model():
    random = np.random.default_rng(3)
    root = random.standard_normal((12, 12))
    H, g, w = root @ root.T, random.standard_normal(12), random.standard_normal(12)
    kinks = np.append(np.full(11, 0.4), 0.0)
    step, slope = np.empty(12), np.empty(12)
    coordinate_descent(H, g, w, kinks, step, slope, 1e-12, 10_000)
    np.testing.assert_allclose(slope, g + H @ step, atol=1e-10)
    moved = w + step
    active = moved != 0
    np.testing.assert_allclose((slope + kinks * np.sign(moved))[active], 0, atol=1e-10)
    assert (np.abs(slope[~active]) <= kinks[~active] + 1e-10).all()
