"""Compiled co-occurrence: whole counts, the marginals, and features from these.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture.emphasis._kernels import n_log_n, ratio
from overread.kernel import kernel


@kernel
def count_pairs(levels: NDArray[np.uint16], down: int, right: int, counts: NDArray[np.uint32]) -> None:
    """Count level pairs of pixels one offset apart: counts[a, b], not symmetrized; the border is skipped."""
    counts[:] = 0
    flat = counts.ravel()
    # Unsigned indices spare the test for negative ones.
    stride = np.uintp(counts.shape[1])
    rows, columns = levels.shape
    first = 1 + max(0, -right)
    last = columns - 1 - max(0, right)
    for y in range(1, rows - 1 - down):
        here = levels[y, first:last]
        there = levels[y + down, first + right : last + right]
        for x in range(here.size):
            flat[np.uintp(here[x]) * stride + np.uintp(there[x])] += np.uint32(1)


@kernel
def fold_pairs(
    counts: NDArray[np.uint32],
    n_levels: int,
    table: NDArray[np.float64],
    differences: NDArray[np.int64],
    sums: NDArray[np.int64],
    margin: NDArray[np.int64],
    folded: NDArray[np.float64],
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
        if diagonal > 0:
            squares += diagonal * diagonal
            logs += n_log_n(diagonal, table)
            largest = max(largest, diagonal)
            differences[0] += diagonal
            sums[2 * a] += diagonal
        row = diagonal
        for b in range(a + 1, n_levels + 1):
            c = int(counts[a, b]) + int(counts[b, a])
            if c > 0:
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
def glcm_from_fold(
    n_levels: int,
    table: NDArray[np.float64],
    differences: NDArray[np.int64],
    sums: NDArray[np.int64],
    margin: NDArray[np.int64],
    folded: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """25 features of a symmetric co-occurrence matrix from its marginals; all 0 where there is no pair."""
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
    out[0] = folded[3] / total
    out[1] = mean
    out[2] = variance
    out[3] = entropy
    out[4] = d1
    out[5] = d2 - d1 * d1
    out[6] = log_total - dlogs / total
    out[7] = 2.0 * mean
    out[8] = second
    out[9] = log_total - slogs / total
    out[10] = folded[1] / (total * total)
    out[11] = d2
    out[12] = d1
    out[13] = inverse / total
    out[14] = inverse_n / total
    out[15] = moment / total
    out[16] = moment_n / total
    out[17] = inverse_variance / total
    out[18] = (second - 2.0 * variance) / (2.0 * variance) if variance > 0.0 else 1.0
    out[19] = autocorrelation
    out[20] = second
    out[21] = third / total
    out[22] = fourth / total
    out[23] = ratio(entropy - 2.0 * margin_entropy, margin_entropy)
    out[24] = math.sqrt(max(0.0, 1.0 - math.exp(-2.0 * (2.0 * margin_entropy - entropy))))


@kernel
def pair_features(
    levels: NDArray[np.uint16],
    n_levels: int,
    distance: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """25 features at one distance in each of 4 directions: out[direction, feature]."""
    pairs = np.zeros((n_levels + 1, n_levels + 1), np.uint32)
    differences = np.zeros(n_levels + 1, np.int64)
    sums = np.zeros(2 * n_levels + 1, np.int64)
    margin = np.zeros(n_levels + 1, np.int64)
    folded = np.zeros(4)
    for direction in range(4):
        down = 0 if direction == 0 else distance
        right = distance * (1 - max(0, direction - 1))
        count_pairs(levels, down, right, pairs)
        fold_pairs(pairs, n_levels, table, differences, sums, margin, folded)
        glcm_from_fold(n_levels, table, differences, sums, margin, folded, out[direction])


@kernel
def average(found: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Mean over 4 directions; opposite ones are paired, so that a quarter turn keeps the bits."""
    for f in range(out.size):
        out[f] = ((found[0, f] + found[2, f]) + (found[1, f] + found[3, f])) / 4.0
