"""Grey level size zone matrix (Thibault 2009; IBSI family of the same name).

In the kernels levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.features.ibsi.counts import TABLE_LENGTH, emphasis, n_log_n_table
from overread.features.ibsi.levels import add_border
from overread.kernel import kernel

__all__ = ["GLSZM", "glszm_features", "zone_features"]

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


@kernel
def find_root(label: np.uint32, parent: NDArray[np.uint32]) -> np.uint32:
    """Find the root of a label, halving its path."""
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return label


@kernel
def join(a: np.uint32, b: np.uint32, parent: NDArray[np.uint32]) -> None:
    """Join the trees of two labels under the smaller root."""
    if a == b:
        return
    a = find_root(a, parent)
    b = find_root(b, parent)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@kernel
def label_zones(
    levels: NDArray[np.uint16],
    labels: NDArray[np.uint32],
    parent: NDArray[np.uint32],
    size: NDArray[np.uint32],
    level_of: NDArray[np.uint16],
) -> int:
    """Label zones of one level, 8-connected, by union-find; return how many labels were given.

    Sizes end at the roots (``parent[k] == k``); other labels have size 0. Where the pixel above is equal, it has
    joined all other equal neighbours already; the same holds for the left one, but for the upper right.
    ``labels`` holds the rows above and here.
    """
    rows, columns = levels.shape
    n = np.uint32(0)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        label_here = labels[y % 2]
        label_above = labels[(y - 1) % 2]
        for x in range(1, columns - 1):
            level = here[x]
            if level == 0:
                continue
            if above[x] == level:
                label = label_above[x]
            elif here[x - 1] == level:
                label = label_here[x - 1]
                if above[x + 1] == level:
                    join(label, label_above[x + 1], parent)
            elif above[x - 1] == level:
                label = label_above[x - 1]
                if above[x + 1] == level:
                    join(label, label_above[x + 1], parent)
            elif above[x + 1] == level:
                label = label_above[x + 1]
            else:
                label = n
                parent[n] = n
                size[n] = 0
                level_of[n] = level
                n += np.uint32(1)
            label_here[x] = label
            size[label] += np.uint32(1)
    for k in range(int(n) - 1, -1, -1):
        if parent[k] != k:
            size[parent[k]] += size[k]
            size[k] = 0
    return int(n)


@kernel
def count_zones(
    levels: NDArray[np.uint16],
    labels: NDArray[np.uint32],
    parent: NDArray[np.uint32],
    size: NDArray[np.uint32],
    level_of: NDArray[np.uint16],
    column_of: NDArray[np.int32],
    counts: NDArray[np.int32],
    sizes: NDArray[np.float64],
) -> int:
    """Count zones by level and size; return the number of different sizes.

    counts[level, k] is the number of zones of size sizes[k]. Different sizes that sum to the number of pixels
    are few, so the matrix stays small however large a zone is.
    """
    n = label_zones(levels, labels, parent, size, level_of)
    n_sizes = 0
    for label in range(n):
        if size[label] > 0:
            k = column_of[size[label]]
            if k < 0:
                k = n_sizes
                column_of[size[label]] = k
                sizes[k] = size[label]
                counts[:, k] = 0
                n_sizes += 1
            counts[level_of[label], k] += 1
    for k in range(n_sizes):
        column_of[int(sizes[k])] = -1
    return n_sizes


@kernel
def zone_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Features of zones, in the order of `GLSZM`."""
    area = levels.size
    # n different sizes take at least n (n + 1) / 2 pixels.
    n_sizes = 2 + int(math.sqrt(2.0 * area))
    zones = np.empty((n_levels + 1, n_sizes), np.int32)
    sizes = np.empty(n_sizes)
    labels = np.empty((2, levels.shape[1]), np.uint32)
    parent = np.empty(area, np.uint32)
    size = np.empty(area, np.uint32)
    level_of = np.empty(area, np.uint16)
    column_of = np.full(area + 1, -1, np.int32)
    n_sizes = count_zones(levels, labels, parent, size, level_of, column_of, zones, sizes)
    emphasis(zones[:, :n_sizes], sizes[:n_sizes], n_pixels, table, out)


def glszm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """16 features of zones of equal levels; `GLSZM` has the formulas.

    r_ij is the number of 8-connected zones of level i and j pixels, ``r_i.`` and ``r_.j`` its marginals, N the number
    of zones, n that of pixels (IBSI "2D").

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = add_border(levels, n_levels)
    out = np.zeros(len(GLSZM))
    zone_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(GLSZM, out.tolist(), strict=True))
