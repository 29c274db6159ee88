"""From the user's numbers to the solver's problem: units, checks, seeds."""

from __future__ import annotations

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models import ElasticNet, SoftMILLogisticRegression, SoftMILObjective
from overread.models._problem import check_number, prepare_for, seed_of


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
