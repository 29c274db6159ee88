"""How far above the minimum a point can lie at most, where the loss is convex: Fenchel's bound from below.

The loss is a sum of terms omega (softplus(z) - p z), one a plain row or, for the mean of scores, one a bag. For numbers
a in [0, 1], with u = a - p spread over the rows of a term as its score is, and g = X'(omega u),

    -sum omega [a log a + (1 - a) log(1 - a)]  -  max_v (-g'v - lam R(v))

is at most the minimum, if sum omega u = 0 where there is an intercept. At the minimum a = sigma(z) makes both equal.
Near it sigma(z) is made feasible: the scores are shifted until the sum is 0, and u is shrunk where the second term
would be infinite. With violations of epsilon lam the bound is some 2 epsilon lam |w|_1 below the objective.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from overread.models.loss.bag_loss import BagLoss
from overread.models.penalties.penalty import Penalty

__all__ = ["balance", "lower_bound"]

Floats = NDArray[np.float64]

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


def lower_bound(loss: BagLoss, residual: Floats, penalty: Penalty, gradient: Floats, lam: float) -> float:
    """Lower bound of the objective.

    Parameters
    ----------
    loss
        A convex one.
    residual
        Its gradient in the scores at some point, of sum 0 where there is an intercept.
    penalty, lam
        The penalty.
    gradient
        X'residual; 0 may stand for entries that are known not to exceed lam times their kink.
    """
    shrink, conjugate = 1.0, penalty.conjugate(gradient, lam)
    if not np.isfinite(conjugate):
        size, kinks = np.abs(gradient), lam * np.broadcast_to(penalty.kink, gradient.shape)
        exceeds = size > kinks
        shrink = float((kinks[exceeds] / size[exceeds]).min()) * (1.0 - ROUNDING)
        conjugate = penalty.conjugate(shrink * gradient, lam)
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
