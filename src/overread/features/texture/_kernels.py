"""Compiled features of whole regions.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide, so that neighbours need no bounds
test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.texture.emphasis._kernels import TABLE_LENGTH, n_log_n_table
from overread.features.texture.first_order._kernels import first_order
from overread.features.texture.glcm._kernels import average, pair_features
from overread.features.texture.glrlm._kernels import run_features
from overread.features.texture.glszm._kernels import zone_features
from overread.features.texture.levels._kernels import quantize_into
from overread.features.texture.neighbours._kernels import neighbour_features
from overread.kernel import kernel


@kernel
def region_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """54 features: GLRLM 16, GLSZM 16, NGLDM 17, NGTDM 5."""
    zones = np.empty(17)
    run_features(levels, n_pixels, n_levels, table, out[:16])
    zone_features(levels, n_pixels, n_levels, table, zones)
    out[16:32] = zones[:16]
    neighbour_features(levels, n_pixels, n_levels, table, out[32:49], out[49:])


@kernel
def describe_regions(
    images: NDArray[np.float64],
    masks: NDArray[np.bool_],
    n_bins: int,
    out: NDArray[np.float64],
) -> None:
    """97 features of each region: 18 of its values, 79 of its levels between its least and greatest value."""
    n, rows, columns = images.shape
    area = rows * columns
    values = np.zeros(area)
    bucket = np.zeros(area, np.uint16)
    pool = np.zeros(area)
    found = np.zeros(5)
    levels = np.zeros((rows + 2, columns + 2), np.uint16)
    table = n_log_n_table(TABLE_LENGTH)
    pairs = np.zeros((4, 25))
    for k in range(n):
        size = 0
        for y in range(rows):
            for x in range(columns):
                if masks[k, y, x]:
                    values[size] = images[k, y, x]
                    size += 1
        first_order(values[:size], bucket, pool, found, out[k, :18])
        quantize_into(images[k], masks[k], out[k, 5], out[k, 8], n_bins, levels)
        pair_features(levels, n_bins, 1, table, pairs)
        average(pairs, out[k, 18:43])
        region_features(levels, size, n_bins, table, out[k, 43:])
