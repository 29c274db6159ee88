"""Runs (Galloway 1975) and zones (Thibault 2009) of equal level, and what all matrices of counts share.

IBSI calls them grey level run length and size zone matrix. In the kernels levels are 1 to G in the region, 0 outside it
and on a border one pixel wide.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F64, U16

# Counts beyond the table are few; their logarithms are computed. 4096 exceeds the 3969 pixels of a candidate's patch.
TABLE_LENGTH = 4096

# Columns that runs, zones and dependences share, in the order of `GLRLM`, `GLSZM` and `NGLDM`; the second quantity is
# run length, zone size or dependence. Zones and runs leave out the last.
EMPHASIS = (
    "small", "large", "low", "high", "small_low", "small_high", "large_low", "large_high",
    "level_nonuniformity", "normalized_level_nonuniformity",
    "value_nonuniformity", "normalized_value_nonuniformity",
    "percentage", "level_variance", "value_variance", "entropy", "energy",
)  # fmt: skip


def name_columns(name: str, columns: Iterable[str], *, module: str) -> Any:
    """Make the tuple by which a kernel gives each number to a column by its name, in the columns' order.

    A module-level variable of ``module`` must have the same name: compiled kernels are cached with it.
    """
    return namedtuple(name, list(columns), module=module)


Emphasis = name_columns("Emphasis", EMPHASIS, module=__name__)


@kernel
def n_log_n_table(length: int) -> F64:
    """Table of n log2 n; 0 at n = 0."""
    table = np.zeros(length)
    for n in range(2, length):
        table[n] = n * math.log2(n)
    return table


@kernel
def n_log_n(n: int, table: F64) -> float:
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
def store(values: tuple[float, ...], out: F64) -> None:
    """Write named values to an array in their order, as many as fit."""
    for k in range(out.size):
        out[k] = values[k]


@kernel
def average_directions(found: F64, out: F64) -> None:
    """Mean over 4 directions; opposite ones are paired, so that a quarter turn keeps the bits."""
    for f in range(out.size):
        out[f] = ((found[0, f] + found[2, f]) + (found[1, f] + found[3, f])) / 4.0


@kernel
def emphasis(counts: NDArray[np.int32], values: F64, n_pixels: int, table: F64, out: F64) -> None:
    """Features of a matrix of levels (rows from 1) x values of a second quantity, in the order of `EMPHASIS`.

    ``out`` may be shorter, by what the family leaves out. All 0 where the matrix is empty.
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
            if row[k] > 1:
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
    found = Emphasis(
        small=short / total,
        large=long / total,
        low=low / total,
        high=high / total,
        small_low=short_low / total,
        small_high=short_high / total,
        large_low=long_low / total,
        large_high=long_high / total,
        level_nonuniformity=level_squares / total,
        normalized_level_nonuniformity=level_squares / (total * total),
        value_nonuniformity=value_squares / total,
        normalized_value_nonuniformity=value_squares / (total * total),
        percentage=total / n_pixels,
        level_variance=max(0.0, level_square_mean / total - level_mean * level_mean),
        value_variance=max(0.0, long / total - value_mean * value_mean),
        entropy=math.log2(total) - logs / total,
        energy=energy / (total * total),
    )
    store(found, out)


# r_ij is the number of runs of level i and length j, of 8-connected zones of level i and j pixels, or of pixels of
# level i with j - 1 of the same level among their 8 neighbours (distance 1, coarseness 0); r_i. and r_.j are its
# marginals, N is its sum, n the number of pixels. Of runs each feature is the mean over the directions 0, 45, 90 and
# 135 degrees (IBSI "2D, averaged"), else IBSI "2D". A pixel outside the region ends a run.
def emphasis_formulas(small: str, large: str, level: str, value: str, thing: str) -> dict[str, str]:
    """Formulas by name of the family whose matrix counts a thing by level and value, in the order of `EMPHASIS`."""
    return {
        f"{small}_emphasis": "sum r_ij / j^2 / N",
        f"{large}_emphasis": "sum r_ij j^2 / N",
        f"low_level_{level}_emphasis": "sum r_ij / i^2 / N",
        f"high_level_{level}_emphasis": "sum r_ij i^2 / N",
        f"{small}_low_level_emphasis": "sum r_ij / (i^2 j^2) / N",
        f"{small}_high_level_emphasis": "sum r_ij i^2 / j^2 / N",
        f"{large}_low_level_emphasis": "sum r_ij j^2 / i^2 / N",
        f"{large}_high_level_emphasis": "sum r_ij i^2 j^2 / N",
        "level_nonuniformity": "sum_i r_i.^2 / N",
        "normalized_level_nonuniformity": "sum_i r_i.^2 / N^2",
        f"{value}_nonuniformity": "sum_j r_.j^2 / N",
        f"normalized_{value}_nonuniformity": "sum_j r_.j^2 / N^2",
        f"{thing}_percentage": "N / n",
        "level_variance": "variance of i under r_ij / N",
        f"{value}_variance": "variance of j under r_ij / N",
        f"{thing}_entropy": "-sum (r_ij / N) log2 (r_ij / N)",
    }


GLRLM = emphasis_formulas("short_run", "long_run", "run", "run_length", "run")
GLSZM = emphasis_formulas("small_zone", "large_zone", "zone", "zone_size", "zone")


@kernel
def _count_runs(levels: U16, counts: NDArray[np.int32]) -> int:
    """Count runs in 4 directions, counts[direction, level, length], and return the greatest length.

    A pixel that is the k-th of its run says that a run of at least k pixels exists; the difference of
    neighbouring counts is then the number of runs of exactly k. No test for the end of a run is needed.
    """
    counts[:] = 0
    rows, columns = levels.shape
    stride = np.uintp(counts.shape[2])
    along_counts, falling_counts = counts[0].ravel(), counts[1].ravel()
    down_counts, rising_counts = counts[2].ravel(), counts[3].ravel()
    down = np.zeros(columns, np.uint16)
    falling = np.zeros(columns, np.uint16)
    rising = np.zeros(columns, np.uint16)
    fell = np.zeros(columns, np.uint16)
    rose = np.zeros(columns, np.uint16)
    one, end = np.uintp(1), np.uintp(columns)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        # Products, since a load under a condition would not vectorize. One column of the border goes along: a patch of
        # 63 points a row then fills whole vectors.
        for x in range(one, end):
            down[x] = np.uint16(1) + down[x] * np.uint16(here[x] == above[x])
            fell[x] = np.uint16(1) + falling[x - one] * np.uint16(here[x] == above[x - one])
        for x in range(end - one):
            rose[x] = np.uint16(1) + rising[x + one] * np.uint16(here[x] == above[x + one])
        falling, fell = fell, falling
        rising, rose = rose, rising
        length = np.uintp(0)
        before = here[0]
        for x in range(one, end - one):
            level = here[x]
            length = np.uintp(1) + (length if level == before else np.uintp(0))
            before = level
            start = np.uintp(level) * stride
            along_counts[start + length] += 1
            falling_counts[start + np.uintp(falling[x])] += 1
            down_counts[start + np.uintp(down[x])] += 1
            rising_counts[start + np.uintp(rising[x])] += 1
    greatest = _longest_run(counts)
    for direction in range(4):
        for level in range(1, counts.shape[1]):
            row = counts[direction, level]
            for k in range(1, greatest + 1):
                row[k] -= row[k + 1]
    return greatest


@kernel
def _longest_run(counts: NDArray[np.int32]) -> int:
    """Greatest length that any level has a count of; 0 if there is none."""
    total = np.zeros(counts.shape[2], np.int32)
    for direction in range(4):
        for level in range(1, counts.shape[1]):
            row = counts[direction, level]
            for k in range(row.size):
                total[k] |= row[k]
    greatest = total.size - 1
    while greatest > 0 and total[greatest] == 0:
        greatest -= 1
    return greatest


@kernel
def run_features(levels: U16, n_pixels: int, n_levels: int, table: F64, out: F64) -> None:
    """Features of runs, means over 4 directions, in the order of `GLRLM`."""
    runs = np.zeros((4, n_levels + 1, max(levels.shape)), np.int32)
    longest = _count_runs(levels, runs)
    lengths = np.arange(1.0, longest + 1.0)
    found = np.zeros((4, out.size))
    for direction in range(4):
        emphasis(runs[direction, :, 1 : longest + 1], lengths, n_pixels, table, found[direction])
    average_directions(found, out)


@kernel
def _find_root(label: np.uint32, parent: NDArray[np.uint32]) -> np.uint32:
    """Find the root of a label, halving its path."""
    while parent[label] != label:
        parent[label] = parent[parent[label]]
        label = parent[label]
    return label


@kernel
def _join(a: np.uint32, b: np.uint32, parent: NDArray[np.uint32]) -> None:
    """Join the trees of two labels under the smaller root."""
    if a == b:
        return
    a = _find_root(a, parent)
    b = _find_root(b, parent)
    if a < b:
        parent[b] = a
    else:
        parent[a] = b


@kernel
def _label_zones(
    levels: U16,
    labels: NDArray[np.uint32],
    parent: NDArray[np.uint32],
    size: NDArray[np.uint32],
    level_of: U16,
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
                    _join(label, label_above[x + 1], parent)
            elif above[x - 1] == level:
                label = label_above[x - 1]
                if above[x + 1] == level:
                    _join(label, label_above[x + 1], parent)
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
def _count_zones(
    levels: U16,
    labels: NDArray[np.uint32],
    parent: NDArray[np.uint32],
    size: NDArray[np.uint32],
    level_of: U16,
    column_of: NDArray[np.int32],
    counts: NDArray[np.int32],
    sizes: F64,
) -> int:
    """Count zones by level and size; return the number of different sizes.

    counts[level, k] is the number of zones of size sizes[k]. Different sizes that sum to the number of pixels
    are few, so the matrix stays small however large a zone is.
    """
    n = _label_zones(levels, labels, parent, size, level_of)
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
def zone_features(levels: U16, n_pixels: int, n_levels: int, table: F64, out: F64) -> None:
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
    n_sizes = _count_zones(levels, labels, parent, size, level_of, column_of, zones, sizes)
    emphasis(zones[:, :n_sizes], sizes[:n_sizes], n_pixels, table, out)
