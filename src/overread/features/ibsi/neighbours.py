"""What looks at the 8 neighbours of a pixel: dependences and tone differences, counted in one pass.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

__all__ = ["count_neighbours"]


@kernel
def count_neighbours(
    levels: NDArray[np.uint16], n_levels: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]:
    """Count neighbouring level dependence, and sum differences from the neighbours' mean.

    Returns dependence, occupied, difference: dependence[level, k] counts pixels with k - 1 equal pixels among their 8
    neighbours, occupied[level] pixels with any neighbour in the region, difference[level] sums
    |level - mean of these neighbours|.
    """
    dependence = np.zeros((n_levels + 1, 10), np.int32)
    occupied = np.zeros(n_levels + 1, np.int64)
    difference = np.zeros(n_levels + 1)
    gaps = np.zeros((occupied.size, 9), np.int64)
    counted = np.zeros((occupied.size, 9), np.int64)
    dependence_flat, gaps_flat, counted_flat = dependence.ravel(), gaps.ravel(), counted.ravel()
    rows, columns = levels.shape
    same = np.zeros(columns, np.uint16)
    gap = np.zeros(columns, np.int32)
    valid = np.zeros(columns, np.uint16)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        below = levels[y + 1]
        for x in range(1, columns - 1):
            v = here[x]
            a, b, c = above[x - 1], above[x], above[x + 1]
            d, e = here[x - 1], here[x + 1]
            f, g, h = below[x - 1], below[x], below[x + 1]
            same[x] = (
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
            valid[x] = (
                np.uint16(a > 0)
                + np.uint16(b > 0)
                + np.uint16(c > 0)
                + np.uint16(d > 0)
                + np.uint16(e > 0)
                + np.uint16(f > 0)
                + np.uint16(g > 0)
                + np.uint16(h > 0)
            )
            sums = (
                np.int32(a)
                + np.int32(b)
                + np.int32(c)
                + np.int32(d)
                + np.int32(e)
                + np.int32(f)
                + np.int32(g)
                + np.int32(h)
            )
            gap[x] = abs(np.int32(v) * np.int32(valid[x]) - sums)
        for x in range(1, columns - 1):
            level = np.uintp(here[x])
            dependence_flat[level * np.uintp(10) + np.uintp(same[x])] += 1
            cell = level * np.uintp(9) + np.uintp(valid[x])
            gaps_flat[cell] += gap[x]
            counted_flat[cell] += 1
    for i in range(1, occupied.size):
        total = 0.0
        for count in range(1, 9):
            total += gaps[i, count] / count
            occupied[i] += counted[i, count]
        difference[i] = total
    return dependence, occupied, difference
