"""Neighbourhood grey tone difference matrix (Amadasun and King 1989; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.features.ibsi.counts import name_columns, store
from overread.features.ibsi.levels import add_border
from overread.features.ibsi.neighbours import count_neighbours
from overread.kernel import kernel

__all__ = ["NGTDM", "ngtdm_features", "tone_features"]

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
def tone_features(
    occupied: NDArray[np.int64], difference: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
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


def ngtdm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """5 features of differences from the neighbours' mean; `NGTDM` has the formulas.

    n counts the pixels that have any of their 8 neighbours in the region, p_i is the share of level i among them,
    s_i sums ``|i - mean level of these neighbours|`` over those of level i, g is the number of levels with p_i > 0;
    sums over i and j run over these. Contrast, busyness and strength are 0 where their denominators are
    (IBSI "2D").

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, _, n_levels = add_border(levels, n_levels)
    _, occupied, difference = count_neighbours(padded, n_levels)
    out = np.zeros(len(NGTDM))
    tone_features(occupied, difference, out)
    return dict(zip(NGTDM, out.tolist(), strict=True))
