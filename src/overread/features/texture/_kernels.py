"""Compiled counting behind the texture features.

Grey levels are uint16: 1 to G inside the region of interest, 0 outside it and on a border one pixel wide, so
that neighbours need no bounds test. Counts are whole numbers and stay so as long as possible; logarithms of
counts come from a table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

N_FIRST_ORDER = 18
N_GLCM = 25
N_EMPHASIS = 17
N_NGTDM = 5
N_BUCKETS = 512
RANKED_SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


@kernel
def n_log_n_table(length: int) -> NDArray[np.float64]:
    """Table of n log2 n; 0 at n = 0."""
    table = np.zeros(length)
    for n in range(2, length):
        table[n] = n * math.log2(n)
    return table


@kernel
def n_log_n(n: int, table: NDArray[np.float64]) -> float:
    """Give n log2 n, from the table as far as it reaches."""
    if n < table.size:
        return float(table[n])
    return n * math.log2(n)


@kernel
def ratio(numerator: float, denominator: float) -> float:
    """Quotient with 0 / 0 = 0."""
    if denominator == 0.0 and numerator == 0.0:
        return 0.0
    return numerator / denominator


@kernel
def percentiles(
    x: NDArray[np.floating],
    low: float,
    high: float,
    bucket: NDArray[np.uint16],
    pool: NDArray[np.float64],
    found: NDArray[np.float64],
) -> None:
    """Percentiles of `RANKED_SHARES` by linear interpolation between order statistics.

    Values fall into equal buckets between their extremes; only buckets that hold a wanted rank are sorted.
    """
    n = x.size
    if high == low:
        found[:] = low
        return
    counts = np.zeros(N_BUCKETS + 1, np.int32)
    scale = (N_BUCKETS - 1) / (high - low)
    for i in range(n):
        b = np.uint16((x[i] - low) * scale)
        bucket[i] = b
        counts[b + 1] += 1
    for b in range(N_BUCKETS):
        counts[b + 1] += counts[b]
    wanted = np.zeros(N_BUCKETS, np.bool_)
    bucket_of = np.zeros(2 * RANKED_SHARES.size, np.int64)
    for k in range(2 * RANKED_SHARES.size):
        rank = min(int(RANKED_SHARES[k // 2] * (n - 1)) + k % 2, n - 1)
        bucket_of[k] = np.searchsorted(counts, rank, side="right") - 1
        wanted[bucket_of[k]] = True
    start = np.full(N_BUCKETS, -1, np.int64)
    end = np.zeros(N_BUCKETS, np.int64)
    filled = 0
    for b in range(N_BUCKETS):
        if wanted[b]:
            start[b] = filled
            end[b] = filled
            filled += counts[b + 1] - counts[b]
    for i in range(n):
        b = bucket[i]
        if wanted[b]:
            pool[end[b]] = x[i]
            end[b] += 1
    for b in range(N_BUCKETS):
        if wanted[b]:
            part = pool[start[b] : end[b]]
            if part.min() < part.max():
                part.sort()
    for s in range(RANKED_SHARES.size):
        position = RANKED_SHARES[s] * (n - 1)
        lower = min(int(position), n - 1)
        b, c = bucket_of[2 * s], bucket_of[2 * s + 1]
        first = pool[start[b] + lower - counts[b]]
        second = pool[start[c] + min(lower + 1, n - 1) - counts[c]]
        found[s] = first + (position - lower) * (second - first)


@kernel
def first_order(
    x: NDArray[np.floating],
    bucket: NDArray[np.uint16],
    pool: NDArray[np.float64],
    found: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """18 first-order statistics of the values; ``found`` keeps the percentiles 10, 25, 50, 75, 90."""
    n = x.size
    low = high = float(x[0])
    total = 0.0
    square = 0.0
    for i in range(n):
        v = float(x[i])
        low = min(low, v)
        high = max(high, v)
        total += v
        square += v * v
    mean = min(max(total / n, low), high)
    percentiles(x, low, high, bucket, pool, found)
    p10, p25, median, p75, p90 = found[0], found[1], found[2], found[3], found[4]
    m2 = m3 = m4 = mean_deviation = median_deviation = 0.0
    robust_total = 0.0
    robust_n = 0
    for i in range(n):
        v = float(x[i])
        d = v - mean
        dd = d * d
        m2 += dd
        m3 += dd * d
        m4 += dd * dd
        mean_deviation += abs(d)
        median_deviation += abs(v - median)
        inside = (v >= p10) & (v <= p90)
        robust_total += v if inside else 0.0
        robust_n += 1 if inside else 0
    robust_mean = ratio(robust_total, robust_n)
    robust_deviation = 0.0
    for i in range(n):
        v = float(x[i])
        robust_deviation += abs(v - robust_mean) if (v >= p10) & (v <= p90) else 0.0
    m2 /= n
    out[0] = mean
    out[1] = m2
    out[2] = ratio(m3 / n, m2 * math.sqrt(m2))
    out[3] = m4 / n / (m2 * m2) - 3.0 if m2 * m2 > 0.0 else 0.0
    out[4] = median
    out[5] = low
    out[6] = p10
    out[7] = p90
    out[8] = high
    out[9] = p75 - p25
    out[10] = high - low
    out[11] = mean_deviation / n
    out[12] = ratio(robust_deviation, robust_n)
    out[13] = median_deviation / n
    out[14] = ratio(math.sqrt(m2), mean)
    out[15] = ratio(p75 - p25, p75 + p25)
    out[16] = square
    out[17] = math.sqrt(square / n)


@kernel
def count_pairs(levels: NDArray[np.uint16], down: int, right: int, counts: NDArray[np.int32]) -> None:
    """Count level pairs of pixels one offset apart: counts[a, b], not symmetrized; the border is skipped."""
    counts[:] = 0
    flat = counts.ravel()
    stride = counts.shape[1]
    rows, columns = levels.shape
    first = 1 + max(0, -right)
    last = columns - 1 - max(0, right)
    for y in range(1, rows - 1 - down):
        here = levels[y]
        there = levels[y + down]
        for x in range(first, last):
            flat[int(here[x]) * stride + int(there[x + right])] += 1


@kernel
def fold_pairs(
    counts: NDArray[np.int32],
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
def count_runs(levels: NDArray[np.uint16], counts: NDArray[np.int32]) -> None:
    """Count runs in 4 directions: counts[direction, level, length].

    A pixel that is the k-th of its run says that a run of at least k pixels exists; the difference of
    neighbouring counts is then the number of runs of exactly k. No test for the end of a run is needed.
    """
    counts[:] = 0
    rows, columns = levels.shape
    longest = counts.shape[2]
    down = np.zeros(columns, np.int32)
    falling = np.zeros(columns, np.int32)
    rising = np.zeros(columns, np.int32)
    fell = np.zeros(columns, np.int32)
    rose = np.zeros(columns, np.int32)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        for x in range(1, columns - 1):
            down[x] = down[x] + 1 if here[x] == above[x] else 1
            fell[x] = falling[x - 1] + 1 if here[x] == above[x - 1] else 1
            rose[x] = rising[x + 1] + 1 if here[x] == above[x + 1] else 1
        falling, fell = fell, falling
        rising, rose = rose, rising
        length = 0
        before = levels[y, 0]
        for x in range(1, columns - 1):
            level = here[x]
            length = length + 1 if level == before else 1
            before = level
            counts[0, level, length] += 1
            counts[1, level, falling[x]] += 1
            counts[2, level, down[x]] += 1
            counts[3, level, rising[x]] += 1
    for direction in range(4):
        for level in range(1, counts.shape[1]):
            row = counts[direction, level]
            for k in range(1, longest - 1):
                row[k] -= row[k + 1]


@kernel
def root_of(label: int, parent: NDArray[np.int32]) -> int:
    """Find the root of a label, halving its path."""
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return int(label)


@kernel
def join(a: int, b: int, parent: NDArray[np.int32]) -> None:
    """Join the trees of two labels under the smaller root."""
    a = root_of(a, parent)
    b = root_of(b, parent)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@kernel
def label_zones(
    levels: NDArray[np.uint16],
    labels: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    level_of: NDArray[np.uint16],
) -> int:
    """Label zones of one level, 8-connected, by union-find; return how many labels were given.

    Sizes end at the roots (``parent[k] == k``); other labels have size 0. Where the pixel above is equal, it has
    joined all other equal neighbours already; the same holds for the left one, but for the upper right.
    """
    rows, columns = levels.shape
    n = 0
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        for x in range(1, columns - 1):
            level = here[x]
            if level == 0:
                continue
            if above[x] == level:
                label = labels[y - 1, x]
            elif here[x - 1] == level:
                label = labels[y, x - 1]
                if above[x + 1] == level:
                    join(label, labels[y - 1, x + 1], parent)
            elif above[x - 1] == level:
                label = labels[y - 1, x - 1]
                if above[x + 1] == level:
                    join(label, labels[y - 1, x + 1], parent)
            elif above[x + 1] == level:
                label = labels[y - 1, x + 1]
            else:
                label = np.int32(n)
                parent[n] = n
                size[n] = 0
                level_of[n] = level
                n += 1
            labels[y, x] = label
            size[label] += 1
    for label in range(n - 1, -1, -1):
        above_label = parent[label]
        if above_label != label:
            size[above_label] += size[label]
            size[label] = 0
    return n


@kernel
def count_zones(
    levels: NDArray[np.uint16],
    labels: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
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
def count_neighbours(
    levels: NDArray[np.uint16],
    dependence: NDArray[np.int32],
    occupied: NDArray[np.int64],
    difference: NDArray[np.float64],
) -> None:
    """Count neighbouring level dependence, and sum differences from the neighbours' mean.

    dependence[level, k] counts pixels with k - 1 equal pixels among their 8 neighbours. occupied[level] counts
    pixels with any neighbour in the region, difference[level] sums |level - mean of these neighbours|.
    """
    dependence[:] = 0
    occupied[:] = 0
    gaps = np.zeros((occupied.size, 9), np.int64)
    rows, columns = levels.shape
    same = np.zeros(columns, np.uint16)
    sums = np.zeros(columns, np.int32)
    valid = np.zeros(columns, np.uint16)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        below = levels[y + 1]
        for x in range(1, columns - 1):
            v = here[x]
            a, b, c = above[x - 1], above[x], above[x + 1]
            d, e = here[x - 1], here[x + 1]
            f, g, h = below[x - 1], below[x], below[x + 1]
            same[x] = (
                np.uint16(a == v)
                + np.uint16(b == v)
                + np.uint16(c == v)
                + np.uint16(d == v)
                + np.uint16(e == v)
                + np.uint16(f == v)
                + np.uint16(g == v)
                + np.uint16(h == v)
            )
            valid[x] = (
                np.uint16(a > 0)
                + np.uint16(b > 0)
                + np.uint16(c > 0)
                + np.uint16(d > 0)
                + np.uint16(e > 0)
                + np.uint16(f > 0)
                + np.uint16(g > 0)
                + np.uint16(h > 0)
            )
            sums[x] = (
                np.int32(a)
                + np.int32(b)
                + np.int32(c)
                + np.int32(d)
                + np.int32(e)
                + np.int32(f)
                + np.int32(g)
                + np.int32(h)
            )
        for x in range(1, columns - 1):
            level = int(here[x])
            count = int(valid[x])
            dependence[level, same[x] + 1] += 1
            gaps[level, count] += abs(level * count - sums[x])
            occupied[level] += 1 if count > 0 else 0
    occupied[0] = 0
    for level in range(occupied.size):
        total = 0.0
        for count in range(1, 9):
            total += gaps[level, count] / count
        difference[level] = total


@kernel
def emphasis(
    counts: NDArray[np.int32],
    values: NDArray[np.float64],
    n_pixels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """17 features of a matrix of levels (rows from 1) x values of a second quantity.

    Runs, zones and dependences share them: the second quantity is run length, zone size or dependence. The last
    one, the energy, is used for dependences only. All 0 where the matrix is empty.
    """
    out[:] = 0.0
    n_levels, n_values = counts.shape
    column = np.zeros(n_values)
    inverse_square = np.zeros(n_values)
    for k in range(n_values):
        inverse_square[k] = 1.0 / (values[k] * values[k])
    total = level_squares = logs = level_mean = level_square_mean = energy = 0.0
    short_low = short_high = long_low = long_high = short = long = low = high = 0.0
    for level in range(1, n_levels):
        row = counts[level]
        n = row_short = row_long = 0.0
        for k in range(n_values):
            c = float(row[k])
            n += c
            row_short += c * inverse_square[k]
            row_long += c * values[k] * values[k]
            energy += c * c
            column[k] += c
        if n == 0.0:
            continue
        for k in range(n_values):
            logs += n_log_n(row[k], table)
        square = float(level * level)
        total += n
        level_squares += n * n
        level_mean += n * level
        level_square_mean += n * square
        short += row_short
        long += row_long
        low += n / square
        high += n * square
        short_low += row_short / square
        short_high += row_short * square
        long_low += row_long / square
        long_high += row_long * square
    if total == 0.0:
        return
    value_squares = value_mean = 0.0
    for k in range(n_values):
        value_squares += column[k] * column[k]
        value_mean += column[k] * values[k]
    level_mean /= total
    value_mean /= total
    out[0] = short / total
    out[1] = long / total
    out[2] = low / total
    out[3] = high / total
    out[4] = short_low / total
    out[5] = short_high / total
    out[6] = long_low / total
    out[7] = long_high / total
    out[8] = level_squares / total
    out[9] = level_squares / (total * total)
    out[10] = value_squares / total
    out[11] = value_squares / (total * total)
    out[12] = total / n_pixels
    out[13] = max(0.0, level_square_mean / total - level_mean * level_mean)
    out[14] = max(0.0, long / total - value_mean * value_mean)
    out[15] = math.log2(total) - logs / total
    out[16] = energy / (total * total)


@kernel
def tone_difference(
    occupied: NDArray[np.int64], difference: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """5 features of the neighbourhood grey tone difference matrix; coarseness at most 1e6, busyness and strength 0 where
    their denominators are."""
    out[:] = 0.0
    n_levels = occupied.size
    present = np.zeros(n_levels, np.int64)
    n_present = 0
    total = 0.0
    for level in range(1, n_levels):
        if occupied[level] > 0:
            present[n_present] = level
            n_present += 1
            total += occupied[level]
    if n_present == 0:
        return
    weighted = all_differences = 0.0
    for a in range(n_present):
        i = present[a]
        weighted += occupied[i] / total * difference[i]
        all_differences += difference[i]
    spread = busy = complexity = strength = 0.0
    for a in range(n_present):
        i = present[a]
        p = occupied[i] / total
        for b in range(a + 1, n_present):
            j = present[b]
            q = occupied[j] / total
            gap = float(j - i)
            spread += 2.0 * p * q * gap * gap
            busy += 2.0 * abs(i * p - j * q)
            complexity += 2.0 * gap * (p * difference[i] + q * difference[j]) / (p + q)
            strength += 2.0 * (p + q) * gap * gap
    out[0] = min(1e6, 1.0 / weighted) if weighted > 0.0 else 1e6
    if n_present > 1:
        out[1] = spread / (n_present * (n_present - 1)) * all_differences / total
    out[2] = weighted / busy if busy > 0.0 else 0.0
    out[3] = complexity / total
    out[4] = strength / all_differences if all_differences > 0.0 else 0.0


@kernel
def quantize_into(
    image: NDArray[np.floating],
    mask: NDArray[np.bool_],
    low: float,
    high: float,
    n_bins: int,
    levels: NDArray[np.uint16],
) -> None:
    """Write levels 1 to n_bins of equal width from low to high, clipped, into a bordered array; 0 outside."""
    rows, columns = image.shape
    width = high - low
    for y in range(rows):
        for x in range(columns):
            level = 1
            if width > 0.0:
                level = 1 + min(max(int(n_bins * ((image[y, x] - low) / width)), 0), n_bins - 1)
            levels[y + 1, x + 1] = level if mask[y, x] else 0


@kernel
def matrix_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    distance: int,
    table: NDArray[np.float64],
    families: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """79 features: GLCM 25, GLRLM 16 (means over 4 directions), GLSZM 16, NGLDM 17, NGTDM 5.

    ``families`` says which of the five to compute; the others are left as they are.
    """
    rows, columns = levels.shape
    directions = np.array([[0, 1], [1, 1], [1, 0], [1, -1]])
    found = np.zeros(N_GLCM)
    if families[0]:
        out[:25] = 0.0
        pairs = np.zeros((n_levels + 1, n_levels + 1), np.int32)
        differences = np.zeros(n_levels + 1, np.int64)
        sums = np.zeros(2 * n_levels + 1, np.int64)
        margin = np.zeros(n_levels + 1, np.int64)
        folded = np.zeros(4)
        for k in range(4):
            count_pairs(levels, distance * directions[k, 0], distance * directions[k, 1], pairs)
            fold_pairs(pairs, n_levels, table, differences, sums, margin, folded)
            glcm_from_fold(n_levels, table, differences, sums, margin, folded, found)
            for f in range(25):
                out[f] += found[f] / 4.0
    if families[1]:
        out[25:41] = 0.0
        longest = max(rows, columns) - 2
        runs = np.zeros((4, n_levels + 1, longest + 2), np.int32)
        count_runs(levels, runs)
        lengths = np.arange(1.0, longest + 1.0)
        for k in range(4):
            emphasis(runs[k, :, 1 : longest + 1], lengths, n_pixels, table, found)
            for f in range(16):
                out[25 + f] += found[f] / 4.0
    if families[2]:
        n_sizes = 2 + int(math.sqrt(2.0 * rows * columns))
        zones = np.zeros((n_levels + 1, n_sizes), np.int32)
        sizes = np.zeros(n_sizes)
        area = rows * columns
        labels = np.zeros((rows, columns), np.int32)
        parent = np.zeros(area, np.int32)
        size = np.zeros(area, np.int32)
        level_of = np.zeros(area, np.uint16)
        column_of = np.full(area + 1, -1, np.int32)
        n_sizes = count_zones(levels, labels, parent, size, level_of, column_of, zones, sizes)
        emphasis(zones[:, :n_sizes], sizes[:n_sizes], n_pixels, table, found)
        out[41:57] = found[:16]
    if families[3] or families[4]:
        dependence = np.zeros((n_levels + 1, 10), np.int32)
        occupied = np.zeros(n_levels + 1, np.int64)
        difference = np.zeros(n_levels + 1)
        count_neighbours(levels, dependence, occupied, difference)
        if families[3]:
            emphasis(dependence[:, 1:], np.arange(1.0, 10.0), n_pixels, table, found)
            out[57:74] = found[:17]
        if families[4]:
            tone_difference(occupied, difference, out[74:79])


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
    table = n_log_n_table(min(4096, 2 * area + 1))
    families = np.ones(5, np.bool_)
    for k in range(n):
        size = 0
        for y in range(rows):
            for x in range(columns):
                if masks[k, y, x]:
                    values[size] = images[k, y, x]
                    size += 1
        first_order(values[:size], bucket, pool, found, out[k, :18])
        quantize_into(images[k], masks[k], out[k, 5], out[k, 8], n_bins, levels)
        matrix_features(levels, size, n_bins, 1, table, families, out[k, 18:])
