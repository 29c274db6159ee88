"""What every penalty must be: its parts belong together, and the step, distance and alpha_max follow from its value.

Nothing here knows a formula of a penalty: all is compared with `value`, by finite differences or by search.
"""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from overread.errors import InvalidInputError
from overread.models import L1, PENALTIES, ElasticNet, SoftMILLogisticRegression
from overread.models.solver._kernels import coordinate_descent

# Each by its defaults, so that a new one needs no line here; then those with a parameter that matters.
ALL = [*(penalty() for penalty in PENALTIES.values()), ElasticNet(1.0), ElasticNet(0.9), ElasticNet(0.01)]
every_penalty = pytest.mark.parametrize("penalty", ALL, ids=repr)
coefficients = st.floats(-3, 3).map(lambda value: 0.0 if abs(value) < 0.05 else value)
strengths = st.floats(0.01, 2.0)


def one(value):
    return np.array([value])


def derivatives(penalty, w):
    """S' and S'' at one number: 0 where the penalty says that it has no smooth part."""
    slope, curvature = penalty.slope(one(w)), penalty.curvature(one(w))
    assert (slope is None) == (curvature is None)
    return (0.0, 0.0) if slope is None else (slope[0], curvature[0])


def smooth_part(penalty, w):
    return penalty.value(one(w)) - float(penalty.kink) * abs(w)


def coordinate_step(penalty, w, gradient, curvature, alpha):
    """Where the solver's compiled loop moves one column, from the penalty's parts."""
    bent, bend = derivatives(penalty, w)
    step, slope = np.zeros(1), one(gradient + alpha * bent)
    H = np.array([[curvature + alpha * bend]])
    coordinate_descent(H, one(w), one(alpha * float(penalty.kink)), step, slope, 0.0, 100)
    return w + step[0]


@every_penalty
@given(w=coefficients)
def test_slope_and_curvature_are_derivatives_of_the_smooth_part(penalty, w):
    h = 1e-4
    below, here, above = (smooth_part(penalty, w + shift) for shift in (-h, 0.0, h))
    slope, curvature = derivatives(penalty, w)
    assert slope == pytest.approx((above - below) / (2 * h), abs=1e-8)
    assert curvature == pytest.approx((above - 2 * here + below) / h**2, abs=1e-6)
    assert curvature >= 0


@every_penalty
def test_zero_costs_nothing_and_is_the_only_kink(penalty):
    assert penalty.value(np.zeros(3)) == 0
    assert derivatives(penalty, 0.0)[0] == 0
    h = 1e-7
    assert (penalty.value(one(h)) - penalty.value(one(0.0))) / h == pytest.approx(
        float(penalty.kink), rel=1e-5
    )
    assert penalty.value(one(h)) == penalty.value(one(-h))
    assert float(penalty.kink) > 0


@every_penalty
@settings(max_examples=60)
@given(v=st.floats(-3, 3), start=coefficients, h=st.floats(0.1, 5.0), alpha=strengths)
def test_the_coordinate_step_is_the_proximal_operator(penalty, v, start, h, alpha):
    """It minimizes h/2 (x - v)^2 + alpha R(x) from any start, as a search over the value finds."""

    def objective(x):
        return h / 2 * (x - v) ** 2 + alpha * penalty.value(one(x))

    found = coordinate_step(penalty, start, h * (start - v), h, alpha)
    searched = minimize_scalar(objective, bounds=(-abs(v) - 1e-3, abs(v) + 1e-3), method="bounded").x
    assert objective(found) <= objective(searched) + 1e-12
    assert found == pytest.approx(searched, abs=1e-4)


@every_penalty
@settings(max_examples=60)
@given(v=st.floats(-3, 3), h=st.floats(0.1, 5.0), alpha=strengths)
def test_the_distance_is_zero_where_the_proximal_operator_stops(penalty, v, h, alpha):
    w = coordinate_step(penalty, 0.0, -h * v, h, alpha)
    assert penalty.subgradient(one(w), one(h * (w - v)), alpha)[0] == pytest.approx(0, abs=1e-12)


@every_penalty
@given(w=coefficients, gradient=st.floats(-3, 3), alpha=strengths)
def test_the_distance_is_the_steepest_descent(penalty, w, gradient, alpha):
    """|smallest subgradient| is how fast gradient x + alpha R(x) falls to the left or to the right, if it does."""
    h = 1e-6
    here = penalty.value(one(w))
    falls = [
        -(sign * gradient + alpha * (penalty.value(one(w + sign * h)) - here) / h) for sign in (-1.0, 1.0)
    ]
    distance = abs(penalty.subgradient(one(w), one(gradient), alpha)[0])
    assert distance == pytest.approx(max(0.0, *falls), abs=1e-5)


@every_penalty
def test_lambda_max_is_the_smallest_that_keeps_zero(penalty):
    gradient = np.array([0.3, -0.7, 0.0])
    largest = penalty.alpha_max(gradient)
    assert np.abs(penalty.subgradient(np.zeros(3), gradient, largest)).max() <= 1e-15
    assert penalty.subgradient(np.zeros(3), gradient, 0.999 * largest).nonzero()[0].tolist() == [1]
    assert penalty.alpha_max(np.zeros(3)) == 0
    assert penalty.alpha_max(np.empty(0)) == 0


@every_penalty
def test_it_is_its_fields(penalty):
    for again in (copy.deepcopy(penalty), pickle.loads(pickle.dumps(penalty))):
        assert again == penalty
        assert hash(again) == hash(penalty)
    assert repr(penalty).startswith(type(penalty).__name__ + "(")
    penalty.check(3)
    w = np.array([0.5, 0.0, -2.0])
    assert penalty.on(np.arange(3)).value(w) == penalty.value(w)
    parts = [penalty.on(one(j)).value(w[[j]]) for j in range(3)]
    assert sum(parts) == pytest.approx(penalty.value(w), rel=1e-15)


@every_penalty
@given(w=coefficients, slope=coefficients)
def test_the_conjugate_is_at_least_what_it_bounds(penalty, w, slope):
    """-g v - alpha R(v) at any v; it may be infinite."""
    assert penalty.conjugate(one(slope), 0.5) >= -slope * w - 0.5 * penalty.value(one(w)) - 1e-9


def test_the_formula():
    w = np.array([1.5, 0.0, -2.0])
    assert L1().value(w) == 3.5
    assert L1().subgradient(w, np.array([0.5, 0.75, 0.5]), 0.5).tolist() == [1.0, 0.25, 0.0]
    assert L1().alpha_max(np.array([0.25, -0.5])) == 0.5


@pytest.mark.parametrize("given", ["l2", None, 1.0, L1, ["l1"]])
def test_what_is_no_penalty(given):
    with pytest.raises(InvalidInputError, match=r"choose one of l1, elastic_net.*, or pass a Penalty"):
        SoftMILLogisticRegression(penalty=given).fit([[0.0], [1.0]], [0, 1])
