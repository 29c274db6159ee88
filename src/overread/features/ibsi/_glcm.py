"""Grey level co-occurrence matrix (Haralick 1973; IBSI family of the same name).

The kernels count whole pairs, fold the symmetric matrix to its marginals, and take all features from these. Levels are
1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread._kernel import kernel
from overread.errors import InvalidInputError
from overread.features._arrays import F64, U16
from overread.features.ibsi._levels import add_border
from overread.features.ibsi._runs_zones import (
    TABLE_LENGTH,
    average_directions,
    n_log_n,
    n_log_n_table,
    name_columns,
    ratio,
    store,
)

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
Glcm = name_columns("Glcm", GLCM, module=__name__)


@kernel
def _count_pairs(levels: U16, distance: int, counts: NDArray[np.uint32]) -> None:
    """Count level pairs in 4 directions: counts[direction, a, b], not symmetrized; the border is skipped.

    The corners of a square hold a pair of each direction: right, falling, down and rising. Four tables at once also
    spare the wait for a cell that the neighbour has just counted. Beside the squares there are pairs along the last
    columns and rows.
    """
    counts[:] = 0
    right, falling, down, rising = (
        counts[0].ravel(),
        counts[1].ravel(),
        counts[2].ravel(),
        counts[3].ravel(),
    )
    # Unsigned indices spare the test for negative ones.
    stride, step, one = np.uintp(counts.shape[2]), np.uintp(distance), np.uint32(1)
    rows, columns = levels.shape
    bottom = max(1, rows - 1 - distance)
    edge, end = np.uintp(max(1, columns - 1 - distance)), np.uintp(columns - 1)
    for y in range(1, bottom):
        here, below = levels[y], levels[y + distance]
        for x in range(np.uintp(1), edge):
            a = np.uintp(here[x]) * stride
            b, c, d = np.uintp(here[x + step]), np.uintp(below[x]), np.uintp(below[x + step])
            right[a + b] += one
            falling[a + d] += one
            down[a + c] += one
            rising[b * stride + c] += one
        for x in range(edge, end):
            down[np.uintp(here[x]) * stride + np.uintp(below[x])] += one
    for y in range(bottom, rows - 1):
        here = levels[y]
        for x in range(np.uintp(1), edge):
            right[np.uintp(here[x]) * stride + np.uintp(here[x + step])] += one


@kernel
def _fold_pairs(
    counts: NDArray[np.uint32],
    n_levels: int,
    table: F64,
    differences: NDArray[np.int64],
    sums: NDArray[np.int64],
    margin: NDArray[np.int64],
    folded: F64,
) -> None:
    """Marginals of the symmetrized matrix, and what needs the whole of it.

    ``folded`` is: number of pairs (both ways), sum of squared counts, sum of c log2 c, largest count.
    """
    differences[: n_levels + 1] = 0
    sums[: 2 * n_levels + 1] = 0
    margin[: n_levels + 1] = 0
    squares = 0
    logs = 0.0
    largest = 0
    for a in range(1, n_levels + 1):
        diagonal = 2 * int(counts[a, a])
        squares += diagonal * diagonal
        logs += n_log_n(diagonal, table)
        largest = max(largest, diagonal)
        differences[0] += diagonal
        sums[2 * a] += diagonal
        row = diagonal
        # Empty cells add 0: a test for them would be mispredicted too often.
        for b in range(a + 1, n_levels + 1):
            c = int(counts[a, b]) + int(counts[b, a])
            squares += 2 * c * c
            logs += 2.0 * n_log_n(c, table)
            largest = max(largest, c)
            differences[b - a] += 2 * c
            sums[a + b] += 2 * c
            margin[b] += c
            row += c
        margin[a] += row
    total = 0
    for a in range(1, n_levels + 1):
        total += margin[a]
    folded[0] = total
    folded[1] = squares
    folded[2] = logs
    folded[3] = largest


@kernel
def _glcm_from_fold(
    n_levels: int,
    table: F64,
    differences: NDArray[np.int64],
    sums: NDArray[np.int64],
    margin: NDArray[np.int64],
    folded: F64,
    out: F64,
) -> None:
    """Features of a symmetric co-occurrence matrix from its marginals; all 0 if there is no pair."""
    out[:] = 0.0
    total = folded[0]
    if total == 0.0:
        return
    log_total = math.log2(total)
    mean = 0.0
    margin_logs = 0.0
    for a in range(1, n_levels + 1):
        mean += a * margin[a]
        margin_logs += n_log_n(margin[a], table)
    mean /= total
    variance = 0.0
    for a in range(1, n_levels + 1):
        variance += (a - mean) ** 2 * margin[a]
    variance /= total
    d1 = d2 = dlogs = inverse = inverse_n = moment = moment_n = inverse_variance = 0.0
    for k in range(n_levels):
        c = differences[k]
        if c == 0:
            continue
        d1 += k * c
        d2 += k * k * c
        dlogs += n_log_n(c, table)
        inverse += c / (1.0 + k)
        inverse_n += c / (1.0 + k / n_levels)
        moment += c / (1.0 + k * k)
        moment_n += c / (1.0 + k * k / (n_levels * n_levels))
        if k > 0:
            inverse_variance += c / (k * k)
    slogs = second = third = fourth = products = 0.0
    for k in range(2, 2 * n_levels + 1):
        c = sums[k]
        if c == 0:
            continue
        slogs += n_log_n(c, table)
        d = k - 2.0 * mean
        second += d * d * c
        third += d * d * d * c
        fourth += d * d * d * d * c
        products += k * k * c
    d1 /= total
    d2 /= total
    second /= total
    entropy = log_total - folded[2] / total
    margin_entropy = log_total - margin_logs / total
    autocorrelation = (products / total - d2) / 4.0
    correlation = (second - 2.0 * variance) / (2.0 * variance) if variance > 0.0 else 1.0
    found = Glcm(
        joint_maximum=folded[3] / total,
        joint_average=mean,
        joint_variance=variance,
        joint_entropy=entropy,
        difference_average=d1,
        difference_variance=d2 - d1 * d1,
        difference_entropy=log_total - dlogs / total,
        sum_average=2.0 * mean,
        sum_variance=second,
        sum_entropy=log_total - slogs / total,
        angular_second_moment=folded[1] / (total * total),
        contrast=d2,
        dissimilarity=d1,
        inverse_difference=inverse / total,
        normalized_inverse_difference=inverse_n / total,
        inverse_difference_moment=moment / total,
        normalized_inverse_difference_moment=moment_n / total,
        inverse_variance=inverse_variance / total,
        correlation=correlation,
        autocorrelation=autocorrelation,
        cluster_tendency=second,
        cluster_shade=third / total,
        cluster_prominence=fourth / total,
        information_correlation_1=ratio(entropy - 2.0 * margin_entropy, margin_entropy),
        information_correlation_2=math.sqrt(
            max(0.0, 1.0 - math.exp(-2.0 * (2.0 * margin_entropy - entropy)))
        ),
    )
    store(found, out)


@kernel
def pair_features(levels: U16, n_levels: int, distance: int, table: F64, out: F64) -> None:
    """Features at one distance in each of 4 directions: out[direction, feature], in the order of `GLCM`."""
    pairs = np.empty((4, n_levels + 1, n_levels + 1), np.uint32)
    differences = np.zeros(n_levels + 1, np.int64)
    sums = np.zeros(2 * n_levels + 1, np.int64)
    margin = np.zeros(n_levels + 1, np.int64)
    folded = np.zeros(4)
    _count_pairs(levels, distance, pairs)
    for direction in range(4):
        _fold_pairs(pairs[direction], n_levels, table, differences, sums, margin, folded)
        _glcm_from_fold(n_levels, table, differences, sums, margin, folded, out[direction])


def glcm_features(levels: ArrayLike, *, distance: int = 1, n_levels: int | None = None) -> dict[str, float]:
    """25 features of the co-occurrence of levels; `GLCM` has the formulas.

    p_ij is the share of pixel pairs, ``distance`` apart and both in the region, that have levels i and j, counted
    both ways (a symmetric matrix); p_i its marginal, d_k and s_k the shares with ``|i - j| = k`` and i + j = k, G
    the number of levels. Each feature is the mean over the directions 0, 45, 90 and 135 degrees (IBSI "2D,
    averaged"; diagonal neighbours are ``distance`` steps along both axes). A direction without pairs counts as 0;
    the correlation of a single level is 1, its information correlations are 0.

    Parameters
    ----------
    levels : array-like
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    distance : int, default=1
        Steps between the pixels of a pair.
    n_levels : int, optional
        G; the greatest level by default.
    """
    padded, _, n_levels = add_border(levels, n_levels)
    if not 1 <= distance < max(padded.shape) - 2:
        raise InvalidInputError(f"distance: {distance}; give 1 to the longer side of the image minus 1.")
    found = np.zeros((4, len(GLCM)))
    out = np.zeros(len(GLCM))
    pair_features(padded, n_levels, distance, n_log_n_table(TABLE_LENGTH), found)
    average_directions(found, out)
    return dict(zip(GLCM, out.tolist(), strict=True))
