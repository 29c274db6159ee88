"""Grey level co-occurrence matrix (Haralick 1973; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from overread.errors import InvalidInputError
from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.glcm._kernels import average, pair_features
from overread.features.texture.levels import bordered

__all__ = ["GLCM", "glcm_features"]

GLCM = {
    "joint_maximum": "max p_ij",
    "joint_average": "mu = sum i p_ij",
    "joint_variance": "s^2 = sum (i - mu)^2 p_ij",
    "joint_entropy": "HXY = -sum p_ij log2 p_ij",
    "difference_average": "mu_d = sum_k k d_k",
    "difference_variance": "sum_k (k - mu_d)^2 d_k",
    "difference_entropy": "-sum_k d_k log2 d_k",
    "sum_average": "sum_k k s_k",
    "sum_variance": "sum_k (k - sum average)^2 s_k",
    "sum_entropy": "-sum_k s_k log2 s_k",
    "angular_second_moment": "sum p_ij^2",
    "contrast": "sum (i - j)^2 p_ij",
    "dissimilarity": "sum |i - j| p_ij",
    "inverse_difference": "sum p_ij / (1 + |i - j|)",
    "normalized_inverse_difference": "sum p_ij / (1 + |i - j| / G)",
    "inverse_difference_moment": "sum p_ij / (1 + (i - j)^2)",
    "normalized_inverse_difference_moment": "sum p_ij / (1 + (i - j)^2 / G^2)",
    "inverse_variance": "2 sum_{i < j} p_ij / (i - j)^2",
    "correlation": "(sum i j p_ij - mu^2) / s^2",
    "autocorrelation": "sum i j p_ij",
    "cluster_tendency": "sum (i + j - 2 mu)^2 p_ij",
    "cluster_shade": "sum (i + j - 2 mu)^3 p_ij",
    "cluster_prominence": "sum (i + j - 2 mu)^4 p_ij",
    "information_correlation_1": "(HXY - 2 HX) / HX, HX = -sum_i p_i log2 p_i",
    "information_correlation_2": "sqrt(1 - exp(-2 (2 HX - HXY)))",
}


def glcm_features(levels: ArrayLike, *, distance: int = 1, n_levels: int | None = None) -> dict[str, float]:
    """25 features of the co-occurrence of levels; `GLCM` has the formulas.

    p_ij is the share of pixel pairs, ``distance`` apart and both in the region, that have levels i and j, counted
    both ways (a symmetric matrix); p_i its marginal, d_k and s_k the shares with |i - j| = k and i + j = k, G
    the number of levels. Each feature is the mean over the directions 0, 45, 90 and 135 degrees (IBSI "2D,
    averaged"; diagonal neighbours are ``distance`` steps along both axes). A direction without pairs counts as 0;
    the correlation of a single level is 1, its information correlations are 0.

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    distance
        Steps between the pixels of a pair.
    n_levels
        G; the greatest level by default.
    """
    padded, _, n_levels = bordered(levels, n_levels)
    if not 1 <= distance < max(padded.shape) - 2:
        raise InvalidInputError(f"distance: {distance}; give 1 to the longer side of the image minus 1.")
    found = np.zeros((4, len(GLCM)))
    out = np.zeros(len(GLCM))
    pair_features(padded, n_levels, distance, n_log_n_table(TABLE_LENGTH), found)
    average(found, out)
    return dict(zip(GLCM, out.tolist(), strict=True))
