"""Compiled counting of runs.

Levels are 1 to G in the region, 0 outside it and on a border one pixel wide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.texture.emphasis._kernels import emphasis
from overread.features.texture.glcm._kernels import average
from overread.kernel import kernel


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
    greatest = np.uint16(0)
    for y in range(1, rows - 1):
        here = levels[y]
        above = levels[y - 1]
        longest = np.uint16(0)
        for x in range(1, columns - 1):
            down[x] = np.uint16(1) + (down[x] if here[x] == above[x] else np.uint16(0))
            fell[x] = np.uint16(1) + (falling[x - 1] if here[x] == above[x - 1] else np.uint16(0))
            rose[x] = np.uint16(1) + (rising[x + 1] if here[x] == above[x + 1] else np.uint16(0))
            longest = max(longest, max(down[x], max(fell[x], rose[x])))
        falling, fell = fell, falling
        rising, rose = rose, rising
        length = np.uintp(0)
        before = levels[y, 0]
        for x in range(1, columns - 1):
            level = here[x]
            length = np.uintp(1) + (length if level == before else np.uintp(0))
            before = level
            start = np.uintp(level) * stride
            along_counts[start + length] += 1
            falling_counts[start + np.uintp(falling[x])] += 1
            down_counts[start + np.uintp(down[x])] += 1
            rising_counts[start + np.uintp(rising[x])] += 1
            longest = max(longest, np.uint16(length))
        greatest = max(greatest, longest)
    for direction in range(4):
        for level in range(1, counts.shape[1]):
            row = counts[direction, level]
            for k in range(1, int(greatest) + 1):
                row[k] -= row[k + 1]
    return int(greatest)


@kernel
def run_features(
    levels: NDArray[np.uint16],
    n_pixels: int,
    n_levels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Features of runs, means over 4 directions; out has 16 places."""
    runs = np.zeros((4, n_levels + 1, max(levels.shape)), np.int32)
    longest = count_runs(levels, runs)
    lengths = np.arange(1.0, longest + 1.0)
    found = np.zeros((4, 17))
    for direction in range(4):
        emphasis(runs[direction, :, 1 : longest + 1], lengths, n_pixels, table, found[direction])
    average(found, out)
