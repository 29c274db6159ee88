"""Grey level size zone matrix (Thibault 2009; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.glszm._kernels import zone_features
from overread.features.texture.levels import bordered

__all__ = ["GLSZM", "glszm_features"]

GLSZM = {
    "small_zone_emphasis": "sum r_ij / j^2 / N",
    "large_zone_emphasis": "sum r_ij j^2 / N",
    "low_level_zone_emphasis": "sum r_ij / i^2 / N",
    "high_level_zone_emphasis": "sum r_ij i^2 / N",
    "small_zone_low_level_emphasis": "sum r_ij / (i^2 j^2) / N",
    "small_zone_high_level_emphasis": "sum r_ij i^2 / j^2 / N",
    "large_zone_low_level_emphasis": "sum r_ij j^2 / i^2 / N",
    "large_zone_high_level_emphasis": "sum r_ij i^2 j^2 / N",
    "level_nonuniformity": "sum_i r_i.^2 / N",
    "normalized_level_nonuniformity": "sum_i r_i.^2 / N^2",
    "zone_size_nonuniformity": "sum_j r_.j^2 / N",
    "normalized_zone_size_nonuniformity": "sum_j r_.j^2 / N^2",
    "zone_percentage": "N / n",
    "level_variance": "variance of i under r_ij / N",
    "zone_size_variance": "variance of j under r_ij / N",
    "zone_entropy": "-sum (r_ij / N) log2 (r_ij / N)",
}


def glszm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """16 features of zones of equal levels; `GLSZM` has the formulas.

    r_ij is the number of 8-connected zones of level i and j pixels, r_i. and r_.j its marginals, N the number of
    zones, n that of pixels (IBSI "2D").

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = bordered(levels, n_levels)
    out = np.zeros(len(GLSZM) + 1)
    zone_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(GLSZM, out.tolist(), strict=False))
