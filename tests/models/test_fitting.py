"""Starts of a fit, and the threads it may use."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from overread.models import SoftMILLogisticRegression, single_threaded_blas
from overread.models._problem import SolverOptions, fit_one_alpha, prepare_for


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
