"""The quadratic model of one Newton step, minimized: coordinate descent, and Cholesky where that crawls.

Coordinate descent soon finds which coefficients are 0, but where columns are strongly correlated the others take
thousands of sweeps to settle; steps of a model that is solved no better hardly help, and the last digits of a solution
would take hundreds of them. With zeros and signs given the model is a plain quadratic, and its minimum one Cholesky
solution away. So the two take turns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from overread.models.solver._kernels import coordinate_descent

__all__ = ["minimize_model"]

Floats = NDArray[np.float64]

# Sweeps before the first Cholesky factor, and between two. On the table of benchmarks/real_table.py (30, 20), (60, 40)
# and (100, 100) took the same time within noise, (30, 5) up to a sixth more; one run each, of an earlier form of this.
SWEEPS_FIRST = 30
SWEEPS_BETWEEN = 20
# Bound against endless loops, as where the tolerance is below rounding; up to 5 rounds are usual. Chosen by eye.
MAX_ROUNDS = 30
# Of the diagonal: added where columns are dependent up to rounding, the smallest that gives a factor. By eye.
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
