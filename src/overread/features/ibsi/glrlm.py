"""Grey level run length matrix (Galloway 1975; IBSI family of the same name).

In the kernels levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.features.ibsi.counts import TABLE_LENGTH, average_directions, emphasis, n_log_n_table
from overread.features.ibsi.levels import add_border
from overread.kernel import kernel

__all__ = ["GLRLM", "glrlm_features", "run_features"]

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


@kernel
def count_runs(levels: NDArray[np.uint16], counts: NDArray[np.int32]) -> int:
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
    greatest = longest_run(counts)
    for direction in range(4):
        for level in range(1, counts.shape[1]):
            row = counts[direction, level]
            for k in range(1, greatest + 1):
                row[k] -= row[k + 1]
    return greatest


@kernel
def longest_run(counts: NDArray[np.int32]) -> int:
    """Greatest length that any level has a count of; 0 where there is none."""
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
def run_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Features of runs, means over 4 directions, in the order of `GLRLM`."""
    runs = np.zeros((4, n_levels + 1, max(levels.shape)), np.int32)
    longest = count_runs(levels, runs)
    lengths = np.arange(1.0, longest + 1.0)
    found = np.zeros((4, out.size))
    for direction in range(4):
        emphasis(runs[direction, :, 1 : longest + 1], lengths, n_pixels, table, found[direction])
    average_directions(found, out)


def glrlm_features(levels: ArrayLike, *, n_levels: int | None = None) -> dict[str, float]:
    """16 features of runs of equal levels; `GLRLM` has the formulas.

    r_ij is the number of runs of level i and length j, ``r_i.`` and ``r_.j`` its marginals, N the number of runs, n
    that of pixels. Each feature is the mean over the directions 0, 45, 90 and 135 degrees (IBSI "2D, averaged"). A
    pixel outside the region ends a run.

    Parameters
    ----------
    levels
        Whole numbers: 1 to G in the region, 0 outside; `quantize` makes them.
    n_levels
        G; the greatest level by default.
    """
    padded, n_pixels, n_levels = add_border(levels, n_levels)
    out = np.zeros(len(GLRLM))
    run_features(padded, n_pixels, n_levels, n_log_n_table(TABLE_LENGTH), out)
    return dict(zip(GLRLM, out.tolist(), strict=True))
