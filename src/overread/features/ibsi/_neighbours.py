"""What looks at the 8 neighbours of a pixel: dependences and tone differences, counted in one pass.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.

Neighbouring grey level dependence matrix (Sun and Wee 1983; IBSI family of the same name).

Neighbourhood grey tone difference matrix (Amadasun and King 1989; IBSI family of the same name).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F64, U16
from overread.features.ibsi._runs_zones import emphasis, emphasis_formulas, name_columns, store


@kernel
def _compare_neighbours(levels: U16, same: U16, valid: U16, gap: U16) -> None:
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
def count_neighbours(levels: U16, n_levels: int) -> tuple[NDArray[np.int32], NDArray[np.int64], F64]:
    """Count neighbouring level dependence, and sum differences from the neighbours' mean.

    Returns dependence, occupied, difference: dependence[level, k] counts pixels with k - 1 equal pixels among their 8
    neighbours, occupied[level] pixels with any neighbour in the region, difference[level] sums
    |level - mean of these neighbours|.
    """
    rows, columns = levels.shape
    same = np.empty(levels.size, np.uint16)
    valid = np.empty(levels.size, np.uint16)
    gap = np.empty(levels.size, np.uint16)
    _compare_neighbours(levels, same, valid, gap)
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


NGLDM = emphasis_formulas("low_dependence", "high_dependence", "count", "dependence", "dependence") | {
    "dependence_energy": "sum (r_ij / N)^2"
}


@kernel
def dependence_features(dependence: NDArray[np.int32], n_pixels: int, table: F64, out: F64) -> None:
    """Features of the dependences that `count_neighbours` found, in the order of `NGLDM`."""
    emphasis(dependence[:, 1:], np.arange(1.0, 10.0), n_pixels, table, out)


# n counts the pixels that have any of their 8 neighbours in the region, p_i is the share of level i among them, s_i
# sums |i - mean level of these neighbours| over those of level i, g is the number of levels with p_i > 0; sums over i
# and j run over these. Contrast, busyness and strength are 0 where their denominators are (IBSI "2D").
NGTDM = {
    "coarseness": "1 / sum p_i s_i, at most 1e6",
    "contrast": "(sum_ij p_i p_j (i - j)^2 / (g (g - 1))) (sum s_i / n)",
    "busyness": "sum p_i s_i / sum_ij |i p_i - j p_j|",
    "complexity": "sum_ij |i - j| (p_i s_i + p_j s_j) / (p_i + p_j) / n",
    "strength": "sum_ij (p_i + p_j) (i - j)^2 / sum s_i",
}
Ngtdm = name_columns("Ngtdm", NGTDM, module=__name__)

# Largest coarseness, that of a region without differences (IBSI 2020, section 3.10).
COARSEST = 1e6


@kernel
def tone_features(occupied: NDArray[np.int64], difference: F64, out: F64) -> None:
    """Features of what `count_neighbours` found, in the order of `NGTDM`; 0 where a denominator is."""
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
    coarseness = min(COARSEST, 1.0 / weighted) if weighted > 0.0 else COARSEST
    several = float(n_present * (n_present - 1))
    contrast = spread / several * all_differences / total if n_present > 1 else 0.0
    busyness = weighted / busy if busy > 0.0 else 0.0
    strength = strength / all_differences if all_differences > 0.0 else 0.0
    found = Ngtdm(
        coarseness=coarseness,
        contrast=contrast,
        busyness=busyness,
        complexity=complexity / total,
        strength=strength,
    )
    store(found, out)
