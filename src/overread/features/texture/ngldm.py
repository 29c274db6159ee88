"""Neighbouring grey level dependence matrix (Sun and Wee 1983; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.levels import bordered
from overread.features.texture.neighbours._kernels import neighbour_features

__all__ = ["NGLDM", "ngldm_features"]

NGLDM = {
    "low_dependence_emphasis": "sum r_ij / j^2 / N",
    "high_dependence_emphasis": "sum r_ij j^2 / N",
    "low_level_count_emphasis": "sum r_ij / i^2 / N",
    "high_level_count_emphasis": "sum r_ij i^2 / N",
    "low_dependence_low_level_emphasis": "sum r_ij / (i^2 j^2) / N",
    "low_dependence_high_level_emphasis": "sum r_ij i^2 / j^2 / N",
    "high_dependence_low_level_emphasis": "sum r_ij j^2 / i^2 / N",
    "high_dependence_high_level_emphasis": "sum r_ij i^2 j^2 / N",
    "level_nonuniformity": "sum_i r_i.^2 / N",
    "normalized_level_nonuniformity": "sum_i r_i.^2 / N^2",
    "dependence_nonuniformity": "sum_j r_.j^2 / N",
    "normalized_dependence_nonuniformity": "sum_j r_.j^2 / N^2",
    "dependence_percentage": "N / n",
    "level_variance": "variance of i under r_ij / N",
    "dependence_variance": "variance of j under r_ij / N",
    "dependence_entropy": "-sum (r_ij / N) log2 (r_ij / N)",
    "dependence_energy": "sum (r_ij / N)^2",
}


def ngldm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """17 features of how many neighbours share a level; `NGLDM` has the formulas.

    r_ij is the number of pixels of level i with j - 1 pixels of the same level among their 8 neighbours in the
    region (distance 1, coarseness 0), r_i. and r_.j its marginals, N = n the number of pixels (IBSI "2D").

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
    return dict(zip(NGLDM, dependences.tolist(), strict=True))
