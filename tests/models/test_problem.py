"""Starts of a fit, and the threads it may use.

From the user's numbers to the solver's problem: units, checks, seeds.
Standardization against numpy, also where squares overflow.
"""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from overread.models import ElasticNet, SoftMILLogisticRegression, SoftMILObjective, single_threaded_blas
from overread.models._problem import make_design, prepare


def test_blas_is_kept_to_one_thread():
    with single_threaded_blas():
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


@pytest.mark.parametrize("normalization", ["none", "bags", "class"])
@pytest.mark.parametrize("divide_by_features", [True, False])
@pytest.mark.parametrize("penalty", ["l1", ElasticNet(0.4)])
def test_the_units_lead_back_to_the_users_objective(mil, normalization, divide_by_features, penalty):
    """The solver's weights sum to 1; unit and alpha_unit turn its objective and lambda into the user's."""
    settings = {"normalization": normalization, "divide_by_features": divide_by_features, "penalty": penalty}
    model = SoftMILLogisticRegression(standardize=False, fit_intercept=False, **settings)
    problem = prepare(model, mil.bags, mil.y, None, None)
    alpha = 0.3 * problem.alpha_max
    solution = problem.solver(0).solve(alpha * problem.alpha_unit, tol=1e-8, max_iter=100)
    objective = SoftMILObjective(mil.bags, mil.y, alpha=alpha, **settings)
    assert problem.unit * solution.objective == pytest.approx(objective.value(solution.w), rel=1e-12)
    at_zero = SoftMILObjective(mil.bags, mil.y, alpha=problem.alpha_max, **settings)
    assert np.abs(at_zero.minimum_norm_subgradient(np.zeros(6))[:-1]).max() <= 1e-12 * at_zero.strength
    below = SoftMILObjective(mil.bags, mil.y, alpha=0.999 * problem.alpha_max, **settings)
    assert np.count_nonzero(below.minimum_norm_subgradient(np.zeros(6))[:-1]) == 1


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
