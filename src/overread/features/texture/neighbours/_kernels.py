"""Compiled counting of neighbours, for both matrices that look at them.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.texture.emphasis._kernels import emphasis
from overread.kernel import kernel


@kernel
def count_neighbours(
    levels: NDArray[np.uint16],
    dependence: NDArray[np.int32],
    occupied: NDArray[np.int64],
    difference: NDArray[np.float64],
) -> None:
    """Count neighbouring level dependence, and sum differences from the neighbours' mean.

    dependence[level, k] counts pixels with k - 1 equal pixels among their 8 neighbours. occupied[level] counts
    pixels with any neighbour in the region, difference[level] sums |level - mean of these neighbours|.
    """
    dependence[:] = 0
    occupied[:] = 0
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


@kernel
def tone_difference(
    occupied: NDArray[np.int64], difference: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """5 features of the neighbourhood grey tone difference matrix; 0 where a denominator is.

    The coarseness is at most 1e6.
    """
    out[:] = 0.0
    n_levels = occupied.size
    present = np.zeros(n_levels, np.int64)
    n_present = 0
    total = 0.0
    for level in range(1, n_levels):
        if occupied[level] > 0:
            present[n_present] = level
            n_present += 1
            total += occupied[level]
    if n_present == 0:
        return
    weighted = all_differences = 0.0
    for a in range(n_present):
        i = present[a]
        weighted += occupied[i] / total * difference[i]
        all_differences += difference[i]
    spread = busy = complexity = strength = 0.0
    for a in range(n_present):
        i = present[a]
        p = occupied[i] / total
        for b in range(a + 1, n_present):
            j = present[b]
            q = occupied[j] / total
            gap = float(j - i)
            spread += 2.0 * p * q * gap * gap
            busy += 2.0 * abs(i * p - j * q)
            complexity += 2.0 * gap * (p * difference[i] + q * difference[j]) / (p + q)
            strength += 2.0 * (p + q) * gap * gap
    out[0] = min(1e6, 1.0 / weighted) if weighted > 0.0 else 1e6
    if n_present > 1:
        out[1] = spread / (n_present * (n_present - 1)) * all_differences / total
    out[2] = weighted / busy if busy > 0.0 else 0.0
    out[3] = complexity / total
    out[4] = strength / all_differences if all_differences > 0.0 else 0.0


@kernel
def neighbour_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    table: NDArray[np.float64],
    dependences: NDArray[np.float64],
    tones: NDArray[np.float64],
) -> None:
    """17 features of dependences and 5 of tone differences."""
    dependence = np.zeros((n_levels + 1, 10), np.int32)
    occupied = np.zeros(n_levels + 1, np.int64)
    difference = np.zeros(n_levels + 1)
    count_neighbours(levels, dependence, occupied, difference)
    emphasis(dependence[:, 1:], np.arange(1.0, 10.0), n_pixels, table, dependences)
    tone_difference(occupied, difference, tones)
