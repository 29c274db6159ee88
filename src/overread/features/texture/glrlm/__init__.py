"""Grey level run length matrix (Galloway 1975; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.glrlm._kernels import run_features
from overread.features.texture.levels import bordered

__all__ = ["GLRLM", "glrlm_features"]

GLRLM = {
    "short_run_emphasis": "sum r_ij / j^2 / N",
    "long_run_emphasis": "sum r_ij j^2 / N",
    "low_level_run_emphasis": "sum r_ij / i^2 / N",
    "high_level_run_emphasis": "sum r_ij i^2 / N",
    "short_run_low_level_emphasis": "sum r_ij / (i^2 j^2) / N",
    "short_run_high_level_emphasis": "sum r_ij i^2 / j^2 / N",
    "long_run_low_level_emphasis": "sum r_ij j^2 / i^2 / N",
    "long_run_high_level_emphasis": "sum r_ij i^2 j^2 / N",
    "level_nonuniformity": "sum_i r_i.^2 / N",
    "normalized_level_nonuniformity": "sum_i r_i.^2 / N^2",
    "run_length_nonuniformity": "sum_j r_.j^2 / N",
    "normalized_run_length_nonuniformity": "sum_j r_.j^2 / N^2",
    "run_percentage": "N / n",
    "level_variance": "variance of i under r_ij / N",
    "run_length_variance": "variance of j under r_ij / N",
    "run_entropy": "-sum (r_ij / N) log2 (r_ij / N)",
}


def glrlm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """16 features of runs of equal levels; `GLRLM` has the formulas.

    r_ij is the number of runs of level i and length j, r_i. and r_.j its marginals, N the number of runs, n that
    of pixels. Each feature is the mean over the directions 0, 45, 90 and 135 degrees (IBSI "2D, averaged"). A pixel
    outside the region ends a run.

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = bordered(levels, n_levels)
    out = np.zeros(len(GLRLM))
    run_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(GLRLM, out.tolist(), strict=True))
