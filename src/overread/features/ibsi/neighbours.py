"""What looks at the 8 neighbours of a pixel: dependences and tone differences, counted in one pass.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

__all__ = ["count_neighbours"]


@kernel
def compare_neighbours(
    levels: NDArray[np.uint16], same: NDArray[np.uint16], valid: NDArray[np.uint16], gap: NDArray[np.uint16]
) -> None:
    """Count the equal pixels among 9 and the neighbours in the region; |level times these neighbours - their sum|.

    One loop over all pixels in memory, the borders between two rows included, vectorizes best. Sums fit, since levels
    are at most 4096.
    """
    flat = levels.ravel()
    row, one = np.uintp(levels.shape[1]), np.uintp(1)
    for p in range(row + one, np.uintp(flat.size) - row - one):
        v = flat[p]
        a, b, c = flat[p - row - one], flat[p - row], flat[p - row + one]
        d, e = flat[p - one], flat[p + one]
        f, g, h = flat[p + row - one], flat[p + row], flat[p + row + one]
        same[p] = (
            np.uint16(1)
            + np.uint16(a == v)
            + np.uint16(b == v)
            + np.uint16(c == v)
            + np.uint16(d == v)
            + np.uint16(e == v)
            + np.uint16(f == v)
            + np.uint16(g == v)
            + np.uint16(h == v)
        )
        inside = np.uint16(
            np.uint16(a > 0)
            + np.uint16(b > 0)
            + np.uint16(c > 0)
            + np.uint16(d > 0)
            + np.uint16(e > 0)
            + np.uint16(f > 0)
            + np.uint16(g > 0)
            + np.uint16(h > 0)
        )
        expected, found = np.uint16(v * inside), np.uint16(a + b + c + d + e + f + g + h)
        valid[p] = inside
        gap[p] = expected - found if expected > found else found - expected


@kernel
def count_neighbours(
    levels: NDArray[np.uint16], n_levels: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Count neighbouring level dependence, and sum differences from the neighbours' mean.

    Returns dependence, occupied, difference: dependence[level, k] counts pixels with k - 1 equal pixels among their 8
    neighbours, occupied[level] pixels with any neighbour in the region, difference[level] sums
    |level - mean of these neighbours|.
    """
    rows, columns = levels.shape
    same = np.empty(levels.size, np.uint16)
    valid = np.empty(levels.size, np.uint16)
    gap = np.empty(levels.size, np.uint16)
    compare_neighbours(levels, same, valid, gap)
    dependence = np.zeros((n_levels + 1, 10), np.int32)
    occupied = np.zeros(n_levels + 1, np.int64)
    difference = np.zeros(n_levels + 1)
    gaps = np.zeros((n_levels + 1, 9), np.int64)
    dependence_flat, gaps_flat, flat = dependence.ravel(), gaps.ravel(), levels.ravel()
    for y in range(1, rows - 1):
        for p in range(np.uintp(y * columns + 1), np.uintp((y + 1) * columns - 1)):
            level = np.uintp(flat[p])
            dependence_flat[level * np.uintp(10) + np.uintp(same[p])] += 1
            gaps_flat[level * np.uintp(9) + np.uintp(valid[p])] += gap[p]
            if valid[p] == 0:
                occupied[level] -= 1
    occupied[0] = 0
    for i in range(1, occupied.size):
        for k in range(1, 10):
            occupied[i] += dependence[i, k]
        total = 0.0
        for count in range(1, 9):
            total += gaps[i, count] / count
        difference[i] = total
    return dependence, occupied, difference
