"""Compiled inner loops of the solver. `Xt` holds one feature per row (d x n, C order), float32 or float64.

Products run in float64 whatever the precision of `Xt`, so float32 data loses nothing but its own rounding.
"""

from __future__ import annotations

import numpy as np

from overread._kernel import kernel
from overread.columns import add_columns, dot_columns
from overread.models.loss._kernels import bag_terms, plain_terms

# Rows x columns of one block: small enough (256 or 512 kB) that its second use, for the gradient, finds it in the
# second-level cache. The bounds on its rows are set by judgement.
BLOCK_CELLS = 65536


@kernel
def _row_blocks(n_plain: int, offsets: np.ndarray, n_columns: int) -> np.ndarray:
    """Boundaries of row blocks; a coupled bag is never cut."""
    size = max(256, min(8192, BLOCK_CELLS // max(1, n_columns)))
    bounds = [0]
    while bounds[-1] < n_plain:
        bounds.append(min(n_plain, bounds[-1] + size))
    for m in range(1, offsets.size):
        end = n_plain + offsets[m]
        if end - bounds[-1] >= size or m == offsets.size - 1:
            bounds.append(end)
    return np.array(bounds)


@kernel
def fused_pass(
    Xt: np.ndarray,
    columns: np.ndarray,
    moved: np.ndarray,
    steps: np.ndarray,
    intercept_step: float,
    plain_weight: np.ndarray,
    plain_label: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    label: np.ndarray,
    exponent: np.ndarray,
    pooling: int,
    z: np.ndarray,
    residual: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Add X[:, moved] steps + intercept_step to z; evaluate the loss there and its gradient on columns.

    One pass over the rows: each block of X[:, columns] is read from memory once and used twice. Returns the
    loss; writes residual, and X[:, columns]' residual into gradient.
    """
    n_plain = plain_weight.size
    bounds = _row_blocks(n_plain, offsets, columns.size)
    gradient[:] = 0.0
    total = 0.0
    bag = 0
    for block in range(bounds.size - 1):
        first, last = bounds[block], bounds[block + 1]
        scores = z[first:last]
        for i in range(scores.size):
            scores[i] += intercept_step
        add_columns(Xt, moved, steps, first, last, scores)
        r = residual[first:last]
        if last <= n_plain:
            total += plain_terms(scores, plain_weight[first:last], plain_label[first:last], r)
        else:
            end = bag
            while n_plain + offsets[end] < last:
                end += 1
            total += bag_terms(
                scores, offsets[bag : end + 1], weight[bag:end], label[bag:end], exponent[bag:end], pooling, r
            )
            bag = end
        dot_columns(Xt, columns, first, last, r, gradient)
    return total


@kernel
def coordinate_descent(
    H: np.ndarray,
    coefficients: np.ndarray,
    kinks: np.ndarray,
    step: np.ndarray,
    slope: np.ndarray,
    tolerance: float,
    max_sweeps: int,
) -> int:
    """Lower gradient'd + d'Hd/2 + sum_j kinks_j |w_j + d_j| in d = step, of slope = gradient + Hd; both in place.

    Sweeps over the coordinates that are not at zero until they settle, then over all; stops when no optimality
    condition is violated by more than tolerance. Returns the number of sweeps, negative where it did not come to this.
    """
    m = slope.size
    full = True
    sweeps = 0
    while sweeps < max_sweeps:
        sweeps += 1
        worst = 0.0
        for j in range(m):
            curvature = H[j, j]
            current = coefficients[j] + step[j]
            if curvature <= 0.0 or (current == 0.0 and not full):
                continue
            target = current * curvature - slope[j]
            shrunk = abs(target) - kinks[j]
            updated = 0.0
            if shrunk > 0.0:
                updated = shrunk / curvature if target > 0.0 else -shrunk / curvature
            move = updated - current
            if move != 0.0:
                step[j] += move
                if updated == 0.0:
                    step[j] = -coefficients[j]
                row = H[j]
                for k in range(m):
                    slope[k] += row[k] * move
                worst = max(worst, abs(move) * curvature)
        if worst <= tolerance:
            if full:
                return sweeps
            full = True
        else:
            full = False
    return -sweeps
