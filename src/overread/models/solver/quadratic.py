"""The quadratic model of one Newton step, minimized: coordinate descent, and Cholesky where that crawls.

Coordinate descent finds out quickly which coefficients are 0, but where columns are strongly correlated the others
settle in thousands of sweeps only. With the zeros and the signs given the model is a plain quadratic, whose minimum is one
Cholesky solution away. So the two take turns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky

from overread.models.solver._kernels import coordinate_descent

__all__ = ["minimize_model"]

Floats = NDArray[np.float64]

SWEEPS_FIRST = 30
SWEEPS_BETWEEN = 20
MAX_ROUNDS = 60
RIDGES = (1e-14, 1e-11, 1e-8, 1e-5)


def minimize_model(
    H: Floats, gradient: Floats, coefficients: Floats, kinks: Floats, tolerance: float
) -> tuple[Floats, int]:
    """Minimize gradient'd + d'Hd/2 + sum_j kinks_j |w_j + d_j| over d, until no condition is violated by more than tolerance."""
    step, slope = np.zeros(len(gradient)), gradient.copy()
    total, allowed = 0, SWEEPS_FIRST
    for _ in range(MAX_ROUNDS):
        sweeps = coordinate_descent(H, coefficients, kinks, step, slope, tolerance, allowed)
        total += abs(sweeps)
        if sweeps > 0 or not _solve_on_support(H, gradient, coefficients, kinks, step, slope):
            break
        allowed = SWEEPS_BETWEEN
    return step, total


def _solve_on_support(
    H: Floats, gradient: Floats, coefficients: Floats, kinks: Floats, step: Floats, slope: Floats
) -> bool:
    current = coefficients + step
    support = np.flatnonzero(((current != 0) | (kinks == 0)) & (np.diag(H) > 0))
    here, inner = current[support], H[np.ix_(support, support)]
    signs = np.sign(here) * (kinks[support] > 0)
    slopes = slope[support] + kinks[support] * signs
    move = _solve(inner, -slopes)
    if move is None:
        return False
    reached = here + move
    crossed = reached * signs < 0
    if crossed.any():
        reached[crossed] = 0.0
        cut = reached - here
        if slopes @ cut + 0.5 * cut @ (inner @ cut) >= 0:
            limits = here[crossed] / -move[crossed]
            reached = here + limits.min() * move
            reached[np.flatnonzero(crossed)[limits == limits.min()]] = 0.0
    step[support] = np.where(reached == 0, -coefficients[support], reached - coefficients[support])
    slope[:] = gradient + H @ step
    return True


def _solve(H, right):
    for ridge in RIDGES:
        damped = H.copy(order="F")
        np.fill_diagonal(damped, (1.0 + ridge) * np.diag(H))
        try:
            factor = cholesky(damped, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return cho_solve((factor, True), right, check_finite=False)
    return None
