import numpy as np
import pytest
from tests.models.solver.problems import draw, solver_at_zero

from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.solver._path import CAP, descend, null_intercept, witness_loss


def bags_of(sizes, labels, weights=None):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights = np.full(len(labels), 1 / len(labels)) if weights is None else weights
    return BagLoss.build(offsets, np.asarray(labels, float), weights, POOLINGS["noisy_or"])


def test_the_null_intercept_of_singletons_is_the_log_odds():
    assert null_intercept(bags_of([1] * 4, [1, 0, 0.5, 0.1])) == pytest.approx(np.log(0.4 / 0.6), rel=1e-9)


@pytest.mark.parametrize("size", [2, 7, 1000])
def test_the_null_intercept_of_equal_bags_matches_the_mean_label(size):
    b = null_intercept(bags_of([size] * 3, [0.9, 0.5, 0.1]))
    assert -np.expm1(-size * np.logaddexp(0, b)) == pytest.approx(0.5, rel=1e-8)


def test_labels_that_leave_nothing_to_fit_are_capped():
    assert null_intercept(bags_of([1, 2], [0, 0])) == -CAP
    assert null_intercept(bags_of([1, 2], [1, 1])) == CAP


def test_tiny_labels_are_followed_beyond_the_cap():
    assert null_intercept(bags_of([1], [1e-100])) == pytest.approx(np.log(1e-100), rel=1e-9)


def test_descending_reaches_the_same_point_as_a_fine_path():
    Xt, loss = draw(bag_size=3)
    solver = solver_at_zero(Xt, loss)
    alpha = 0.1 * solver.alpha_max
    quick = descend(solver, alpha, tol=1e-9, max_iter=200)
    fine = solver_at_zero(Xt, loss)
    for step in np.geomspace(1, 0.1, 40):
        last = fine.solve(step * 10 * alpha, tol=1e-9, max_iter=200)
    assert quick.objective == pytest.approx(last.objective, rel=1e-9)


def test_a_witness_stands_for_its_bag():
    loss = bags_of([3, 1, 2], [0.5, 0.0, 1.0])
    stand_in = witness_loss(loss, np.random.default_rng(0))
    assert stand_in.is_convex
    assert stand_in.n_rows == loss.n_rows
    assert stand_in.plain_weight.sum() == pytest.approx(loss.plain_weight.sum() + loss.weight.sum())
    assert np.count_nonzero(stand_in.plain_weight[loss.n_plain :]) == len(loss.weight)
