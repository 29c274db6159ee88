"""Starts of a fit, and the threads it may use.

From the user's numbers to the solver's problem: units, checks, seeds.
Standardization against numpy, also where squares overflow.
"""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from overread.errors import InvalidInputError
from overread.models import ElasticNet, SoftMILLogisticRegression, SoftMILObjective, single_threaded_blas
from overread.models._problem import (
    SolverOptions,
    check_number,
    fit_one_alpha,
    make_design,
    prepare_for,
    seed_of,
)


@pytest.fixture(scope="module")
def problem(make_mil):
    data = make_mil(80, 15, seed=4, hard=True)
    return prepare_for(SoftMILLogisticRegression(), data.bags, data.y, None, None)


OPTIONS = SolverOptions(tol=1e-8, max_iter=200, n_init=1, seed=0)


def test_blas_is_kept_to_one_thread():
    with single_threaded_blas():
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


def test_a_start_that_is_worse_than_zero_is_not_used(problem):
    alpha = 0.2 * problem.alpha_max * problem.alpha_unit
    default = fit_one_alpha(problem, alpha, OPTIONS)
    far = (np.full(15, 1e6), 0.0)
    assert fit_one_alpha(problem, alpha, OPTIONS, far).solution.objective == default.solution.objective


def test_a_good_start_is_used(problem):
    alpha = 0.2 * problem.alpha_max * problem.alpha_unit
    default = fit_one_alpha(problem, alpha, OPTIONS).solution
    again = fit_one_alpha(problem, alpha, OPTIONS, (default.w, default.b)).solution
    assert again.n_iter == 0
    assert again.w.tolist() == default.w.tolist()


def test_the_best_of_many_starts(problem):
    alpha = 0.1 * problem.alpha_max * problem.alpha_unit
    default = fit_one_alpha(problem, alpha, OPTIONS)
    many = fit_one_alpha(problem, alpha, SolverOptions(tol=1e-8, max_iter=200, n_init=6, seed=1))
    assert len(many.start_objectives) == len(default.start_objectives) + 5
    assert problem.unit * many.solution.objective == min(many.start_objectives)
    assert default.solution.objective <= 1.001 * many.solution.objective


@pytest.mark.parametrize("normalization", ["none", "bags", "class"])
@pytest.mark.parametrize("divide_by_features", [True, False])
@pytest.mark.parametrize("penalty", ["l1", ElasticNet(0.4)])
def test_the_units_lead_back_to_the_users_objective(mil, normalization, divide_by_features, penalty):
    """The solver's weights sum to 1; unit and alpha_unit turn its objective and lambda into the user's."""
    settings = {"normalization": normalization, "divide_by_features": divide_by_features, "penalty": penalty}
    model = SoftMILLogisticRegression(standardize=False, fit_intercept=False, **settings)
    problem = prepare_for(model, mil.bags, mil.y, None, None)
    alpha = 0.3 * problem.alpha_max
    solution = problem.solver(0).solve(alpha * problem.alpha_unit, tol=1e-8, max_iter=100)
    objective = SoftMILObjective(mil.bags, mil.y, alpha=alpha, **settings)
    assert problem.unit * solution.objective == pytest.approx(objective.value(solution.w), rel=1e-12)
    at_zero = SoftMILObjective(mil.bags, mil.y, alpha=problem.alpha_max, **settings)
    assert np.abs(at_zero.minimum_norm_subgradient(np.zeros(6))[:-1]).max() <= 1e-12 * at_zero.strength
    below = SoftMILObjective(mil.bags, mil.y, alpha=0.999 * problem.alpha_max, **settings)
    assert np.count_nonzero(below.minimum_norm_subgradient(np.zeros(6))[:-1]) == 1


@pytest.mark.parametrize("value", [-1, 2.5, np.nan, np.inf, "1", True, None])
def test_a_number_outside_its_range_is_named(value):
    with pytest.raises(InvalidInputError, match=r"share=.* must be a finite number in \[0, 1\]"):
        check_number(value, "share", high=1.0)


def test_a_whole_number_is_asked_for_by_that_name():
    assert check_number(3, "count", integer=True) == 3.0
    with pytest.raises(InvalidInputError, match=r"count=2\.5 must be an integer"):
        check_number(2.5, "count", integer=True)


def test_seeds():
    assert seed_of(None) == 0
    assert seed_of(7) == 7
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    with pytest.raises(InvalidInputError, match="random_state"):
        seed_of(-1)


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
