"""Compiled loops of the candidate finder "curvature"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel


@kernel
def suppress_softly(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    score: NDArray[np.float64],
    same: float,
    near: float,
    penalty: float,
    n_fined: int,
    limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows in the order they are chosen, and their scores then, never above the one before.

    The highest score is chosen, again and again. Rows closer than ``same`` to a chosen one fall out; rows closer
    than ``near`` lose ``penalty``, once, and have it back when ``n_fined`` rows are chosen. Of equal scores the
    first row is chosen.
    """
    n = len(x)
    left = score.copy()
    free = np.ones(n, dtype=np.bool_)
    fined = np.zeros(n, dtype=np.bool_)
    chosen = np.empty(min(limit, n), dtype=np.int64)
    response = np.empty(len(chosen))
    m = 0
    while m < len(chosen):
        if m == n_fined:
            left[:] = score
        best = -1
        for i in range(n):
            if free[i] and (best < 0 or left[i] > left[best]):
                best = i
        if best < 0:
            break
        chosen[m] = best
        response[m] = left[best] if m == 0 else min(left[best], response[m - 1])
        m += 1
        free[best] = False
        for i in range(n):
            if free[i]:
                distance = np.sqrt((x[i] - x[best]) ** 2 + (y[i] - y[best]) ** 2)
                if distance < same:
                    free[i] = False
                elif distance < near and not fined[i] and m < n_fined:
                    fined[i] = True
                    left[i] -= penalty
    return chosen[:m], response[:m]


@kernel
def centre_places(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    score: NDArray[np.float64],
    chosen: NDArray[np.int64],
    reach: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average all rows within ``reach[k]`` of row ``chosen[k]``, weighted by their odds."""
    new_x, new_y = np.empty(len(chosen)), np.empty(len(chosen))
    for k in range(len(chosen)):
        best = chosen[k]
        total, dx, dy = 0.0, 0.0, 0.0
        for i in range(len(x)):
            if np.sqrt((x[i] - x[best]) ** 2 + (y[i] - y[best]) ** 2) <= reach[k]:
                weight = np.exp(score[i] - score[best])
                total += weight
                dx += weight * (x[i] - x[best])
                dy += weight * (y[i] - y[best])
        new_x[k], new_y[k] = x[best] + dx / total, y[best] + dy / total
    return new_x, new_y


@kernel
def sample_polar(
    image: NDArray[np.float32],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radii: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Bilinear samples around each point: out[i, direction, k] at radii[k]; beyond the border the edge counts."""
    rows, columns = image.shape
    n_directions, n_radii = out.shape[1], out.shape[2]
    for d in range(n_directions):
        angle = 2.0 * np.pi * d / n_directions
        dx, dy = np.cos(angle), np.sin(angle)
        for i in range(len(column)):
            for k in range(n_radii):
                x = min(max(column[i] + radii[k] * dx, 0.0), columns - 1.0)
                y = min(max(row[i] + radii[k] * dy, 0.0), rows - 1.0)
                c, r = min(int(x), columns - 2), min(int(y), rows - 2)
                u, v = x - c, y - r
                upper = image[r, c] * (1.0 - u) + image[r, c + 1] * u
                lower = image[r + 1, c] * (1.0 - u) + image[r + 1, c + 1] * u
                out[i, d, k] = upper * (1.0 - v) + lower * v


@kernel
def measure_band_convergence(
    gradient_x: NDArray[np.float32],
    gradient_y: NDArray[np.float32],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radii: NDArray[np.float64],
    band: int,
    out: NDArray[np.float64],
) -> None:
    """Sliding band filter: out[i, direction] = largest mean, over ``band`` radii in a row, of the cosine.

    The cosine is that between the gradient and the direction to the centre, at the nearest pixel.
    """
    rows, columns = gradient_x.shape
    n_directions, n_radii = out.shape[1], len(radii)
    cosine = np.empty(n_radii)
    for d in range(n_directions):
        angle = 2.0 * np.pi * d / n_directions
        dx, dy = np.cos(angle), np.sin(angle)
        for i in range(len(column)):
            for k in range(n_radii):
                c = min(max(int(column[i] + radii[k] * dx + 0.5), 0), columns - 1)
                r = min(max(int(row[i] + radii[k] * dy + 0.5), 0), rows - 1)
                gx, gy = gradient_x[r, c], gradient_y[r, c]
                cosine[k] = -(gx * dx + gy * dy) / (np.sqrt(gx * gx + gy * gy) + 1e-6)
            best = -1.0
            for k in range(n_radii - band + 1):
                total = 0.0
                for j in range(band):
                    total += cosine[k + j]
                best = max(best, total / band)
            out[i, d] = best
