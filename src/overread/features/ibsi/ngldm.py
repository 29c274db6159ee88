"""Neighbouring grey level dependence matrix (Sun and Wee 1983; IBSI family of the same name)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.features.ibsi.counts import TABLE_LENGTH, emphasis, n_log_n_table
from overread.features.ibsi.levels import add_border
from overread.features.ibsi.neighbours import count_neighbours
from overread.kernel import kernel

__all__ = ["NGLDM", "dependence_features", "ngldm_features"]

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


@kernel
def dependence_features(
    dependence: NDArray[np.int32], n_pixels: int, table: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Features of the dependences that `count_neighbours` found, in the order of `NGLDM`."""
    emphasis(dependence[:, 1:], np.arange(1.0, 10.0), n_pixels, table, out)


def ngldm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """17 features of how many neighbours share a level; `NGLDM` has the formulas.

    r_ij is the number of pixels of level i with j - 1 pixels of the same level among their 8 neighbours in the
    region (distance 1, coarseness 0), ``r_i.`` and ``r_.j`` its marginals, N = n the number of pixels (IBSI "2D").

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = add_border(levels, n_levels)
    dependence, _, _ = count_neighbours(padded, n_levels)
    out = np.zeros(len(NGLDM))
    dependence_features(dependence, n_pixels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(NGLDM, out.tolist(), strict=True))
