"""Where to start, which alphas to visit, and how to get from one to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from overread.models.loss._bag_loss import BagLoss
from overread.models.solver._newton import NewtonSolver, Solution

Floats = NDArray[np.float64]

# Where labels push b to infinity: beyond this score what is left of the gradient is below rounding.
CAP = 50.0
# Beyond it exp underflows altogether: exp(-745) is the smallest double.
BRACKET = 740.0
# The way to a single alpha ends here at the latest, times alpha_max; set by judgement.
LOWEST = 1e-4


@dataclass(frozen=True)
class Pace:
    """How to go down to a single alpha: the ratio of one alpha to the next, and how well each is solved."""

    ratio: float
    tol: float


# Where the problem is not convex a fine and a coarse pace often end in different basins, and neither is always
# the better one: docs/explanation/model.md has the counts.
FINE = Pace(0.7, 1e-2)
COARSE = Pace(0.4, 1e-1)


def null_intercept(loss: BagLoss) -> float:
    """Intercept that minimizes the loss at w = 0, the start of every path.

    With all scores of a bag equal to b, the loss of each bag is convex in b, so the root of its derivative is
    unique; for the noisy-or it solves mean(1 - (1 - sigma(b))^K) = mean label up to the weights. Where all
    labels are 0 (or 1) it lies at infinity and is capped.
    """
    residual = np.empty(loss.n_rows)

    def slope(b: float) -> float:
        loss.value(np.full(loss.n_rows, b), residual)
        return float(residual.sum())

    if slope(-CAP) >= 0:
        return -CAP if slope(-BRACKET) >= 0 else float(brentq(slope, -BRACKET, -CAP, xtol=1e-13))
    if slope(CAP) <= 0:
        return CAP
    return float(brentq(slope, -CAP, CAP, xtol=1e-13, rtol=1e-14))


def alpha_grid(alpha_max: float, n_alphas: int, min_ratio: float) -> Floats:
    """Geometric grid from alpha_max down to min_ratio alpha_max."""
    return alpha_max * np.geomspace(1.0, min_ratio, n_alphas)


def descend(solver: NewtonSolver, alpha: float, *, tol: float, max_iter: int, pace: Pace = FINE) -> Solution:
    """Reach a single alpha from w = 0 along a short, loose path; without it the non-convex fit does worse."""
    current = pace.ratio * solver.alpha_max
    last = max(alpha / pace.ratio, LOWEST * solver.alpha_max)
    while current > last:
        solver.solve(current, tol=pace.tol, max_iter=max_iter)
        current *= pace.ratio
    return solver.solve(alpha, tol=tol, max_iter=max_iter)


def witness_loss(loss: BagLoss, random: np.random.Generator) -> BagLoss:
    """Convex stand-in that takes one random instance of each coupled bag as its witness: another way to start."""
    sizes = np.diff(loss.offsets)
    witness = loss.offsets[:-1] + (random.random(len(sizes)) * sizes).astype(np.int64)
    weight = np.zeros(int(loss.offsets[-1]))
    weight[witness] = loss.weight
    none = np.empty(0)
    return replace(
        loss,
        plain_weight=np.concatenate([loss.plain_weight, weight]),
        plain_label=np.concatenate([loss.plain_label, np.repeat(loss.label, sizes)]),
        offsets=np.zeros(1, dtype=np.int64),
        weight=none,
        label=none,
        exponent=none,
    )
