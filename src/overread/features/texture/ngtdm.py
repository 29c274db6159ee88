"""Neighbourhood grey tone difference matrix (Amadasun and King 1989; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.levels import bordered
from overread.features.texture.neighbours._kernels import neighbour_features

__all__ = ["NGTDM", "ngtdm_features"]

NGTDM = {
    "coarseness": "1 / sum p_i s_i, at most 1e6",
    "contrast": "(sum_ij p_i p_j (i - j)^2 / (g (g - 1))) (sum s_i / n)",
    "busyness": "sum p_i s_i / sum_ij |i p_i - j p_j|",
    "complexity": "sum_ij |i - j| (p_i s_i + p_j s_j) / (p_i + p_j) / n",
    "strength": "sum_ij (p_i + p_j) (i - j)^2 / sum s_i",
}


def ngtdm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """5 features of differences from the neighbours' mean; `NGTDM` has the formulas.

    n counts the pixels that have any of their 8 neighbours in the region, p_i is the share of level i among them,
    s_i sums |i - mean level of these neighbours| over those of level i, g is the number of levels with p_i > 0;
    sums over i and j run over these. Contrast, busyness and strength are 0 where their denominators are
    (IBSI "2D").

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = bordered(levels, n_levels)
    dependences, tones = np.zeros(17), np.zeros(5)
    neighbour_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), dependences, tones)
    return dict(zip(NGTDM, tones.tolist(), strict=True))
