"""The quadratic model of one Newton step, minimized: coordinate descent, and Cholesky where that crawls.

Coordinate descent soon finds which coefficients are 0, but where columns are strongly correlated the others take
thousands of sweeps to settle; steps of a model that is solved no better help little, and the last digits of a solution
would take hundreds of them. With zeros and signs given the model is a plain quadratic, and its minimum one Cholesky
solution away. So the two take turns.

How far above the minimum a point can lie at most, where the loss is convex: Fenchel's bound from below.

The loss is a sum of terms omega (softplus(z) - p z), one a plain row or, for the mean of scores, one a bag. For numbers
a in [0, 1], with u = a - p spread over the rows of a term as its score is, and g = X'(omega u),

    -sum omega [a log a + (1 - a) log(1 - a)]  -  max_v (-g'v - alpha R(v))

is at most the minimum, if sum omega u = 0 where there is an intercept. At the minimum a = sigma(z) makes both equal.
Near it sigma(z) is made feasible: the scores are shifted until the sum is 0, and u is shrunk where the second term
would be infinite. With violations of epsilon alpha the bound is some 2 epsilon alpha |w|_1 below the objective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.special import entr

from overread.models._penalties import Penalty
from overread.models.loss._bag_loss import BagLoss
from overread.models.solver._kernels import coordinate_descent

Floats = NDArray[np.float64]

# Sweeps before the first Cholesky factor, and between two. On the table of benchmarks/real_table.py (30, 20), (60, 40)
# and (100, 100) took the same time within noise, (30, 5) up to a sixth more; one run each, of an earlier form of this.
SWEEPS_FIRST = 30
SWEEPS_BETWEEN = 20
# Bound against endless loops, as where the tolerance is below rounding; up to 5 rounds are usual. Set by judgement.
MAX_ROUNDS = 30
# Of the diagonal: added where columns are dependent up to rounding, the smallest that gives a factor. By judgement.
RIDGES = (1e-14, 1e-11, 1e-8, 1e-5)


def minimize_model(
    H: Floats, gradient: Floats, coefficients: Floats, kinks: Floats, tolerance: float
) -> tuple[Floats, int]:
    """Minimize gradient'd + d'Hd/2 + sum_j kinks_j |w_j + d_j| over d.

    Until no optimality condition is violated by more than tolerance. Returns d and the number of sweeps.
    """
    step, slope = np.zeros(len(gradient)), gradient.copy()
    total, allowed = 0, SWEEPS_FIRST
    for _ in range(MAX_ROUNDS):
        sweeps = coordinate_descent(H, coefficients, kinks, step, slope, tolerance, allowed)
        total += abs(sweeps)
        if sweeps > 0:
            break
        moved = _move_on_support(H, gradient, coefficients, kinks, step)
        if moved is None:
            break
        slope, allowed = moved, SWEEPS_BETWEEN
    return step, total


def _move_on_support(
    H: Floats, gradient: Floats, coefficients: Floats, kinks: Floats, step: Floats
) -> Floats | None:
    """Move step to the minimum over coefficients that are not 0 with their signs as they are; return the slope there.

    Those that would change sign are set to 0 together, if this lowers the model; else the way ends where the first
    becomes 0. Either way the rest go on without them. None, and nothing done, where there is no Cholesky factor.
    """
    slope = gradient + H @ step
    while True:
        current = coefficients + step
        support = np.flatnonzero(((current != 0) | (kinks == 0)) & (np.diag(H) > 0))
        here, inner = current[support], H[np.ix_(support, support)]
        signs = np.sign(here) * (kinks[support] > 0)
        slopes = slope[support] + kinks[support] * signs
        move = _solve(inner, -slopes)
        if move is None:
            return None
        reached = here + move
        crossed = np.flatnonzero(reached * signs < 0)
        if len(crossed):
            reached[crossed] = 0.0
            cut = reached - here
            if slopes @ cut + 0.5 * cut @ (inner @ cut) >= 0:
                limits = here[crossed] / -move[crossed]
                reached = here + limits.min() * move
                reached[crossed[limits == limits.min()]] = 0.0
        # A coefficient at 0 is -w + w, exactly.
        step[support] = np.where(reached == 0, -coefficients[support], reached - coefficients[support])
        slope = gradient + H @ step
        if not len(crossed):
            return slope


def _solve(H: Floats, right: Floats) -> Floats | None:
    """Solution of H x = right for H positive definite up to rounding; None where it is not."""
    for ridge in RIDGES:
        damped = H.copy(order="F")
        np.fill_diagonal(damped, (1.0 + ridge) * np.diag(H))
        try:
            factor = cholesky(damped, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        solution: Floats = cho_solve((factor, True), right, check_finite=False)
        return solution
    return None


# Newton on one number, from close by; where it takes longer the minimum lies at infinity, and there is no bound.
MAX_SHIFTS = 6
# Of the sum of absolute values: what counts as 0. Some 1e4 roundings, far below any gap that is asked for.
BALANCED = 1e-12
# Shrinks by this much more, so that what was shrunk to its limit does not exceed it by rounding.
ROUNDING = 4.0 * float(np.finfo(float).eps)


def balance(loss: BagLoss, z: Floats, residual: Floats) -> Floats | None:
    """Gradient of the loss in the scores, after the shift of all scores that makes its sum 0; None if not found.

    residual is the one without a shift.
    """
    shift = 0.0
    for _ in range(MAX_SHIFTS):
        total = float(residual.sum())
        if abs(total) <= BALANCED * float(np.abs(residual).sum()):
            return residual
        bend = _bend(loss, z + shift)
        if not bend > 0:
            return None
        shift -= total / bend
        residual = np.empty(len(z))
        loss.value(z + shift, residual)
    return None


def lower_bound(loss: BagLoss, residual: Floats, penalty: Penalty, gradient: Floats, alpha: float) -> float:
    """Lower bound of the objective, for a convex loss.

    `residual` is its gradient in the scores at some point, of sum 0 where there is an intercept; `gradient` is
    X'residual, where 0 may stand for entries that are known not to exceed alpha times their kink.
    """
    shrink, conjugate = 1.0, penalty.conjugate(gradient, alpha)
    if not np.isfinite(conjugate):
        size, kinks = np.abs(gradient), alpha * np.broadcast_to(penalty.kink, gradient.shape)
        exceeds = size > kinks
        shrink = float((kinks[exceeds] / size[exceeds]).min()) * (1.0 - ROUNDING)
        conjugate = penalty.conjugate(shrink * gradient, alpha)
    return _entropy(loss, shrink * residual) - conjugate


def _bend(loss: BagLoss, z: Floats) -> float:
    """Second derivative of the loss along a shift of all scores."""
    total = float(loss.plain_curvature(z).sum())
    if len(loss.weight):
        bent = loss.bag_curvature(z)
        along = np.add.reduceat(bent.direction, loss.offsets[:-1])
        total += float(bent.diagonal.sum() + bent.strength @ along**2)
    return total


def _entropy(loss: BagLoss, residual: Floats) -> float:
    """Sum of omega times the entropy of a = p + u, where residual = omega u."""
    n = loss.n_plain
    weight, label, change = loss.plain_weight, loss.plain_label, residual[:n]
    if len(loss.weight):
        weight, label = np.append(weight, loss.weight), np.append(label, loss.label)
        change = np.append(change, np.add.reduceat(residual[n:], loss.offsets[:-1]))
    used = weight > 0
    if not used.all():
        weight, label, change = weight[used], label[used], change[used]
    a = np.clip(label + change / weight, 0.0, 1.0)
    return float(weight @ (entr(a) + entr(1.0 - a)))
