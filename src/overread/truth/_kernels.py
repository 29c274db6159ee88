"""Compiled parts of `overread.truth`: pairs that lie near each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

__all__ = ["near_pairs"]


@kernel
def near_pairs(
    starts: NDArray[np.int64],
    points: NDArray[np.float64],
    reach: NDArray[np.float64],
    other_starts: NDArray[np.int64],
    other_points: NDArray[np.float64],
    other_reach: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (row, other row) of one group whose distance is at most the sum of their reaches.

    Rows of both tables are sorted by group; group g has the rows starts[g] to starts[g + 1].
    """
    rows, others = np.empty(0, np.int64), np.empty(0, np.int64)
    for fill in (False, True):
        found = 0
        for group in range(len(starts) - 1):
            for i in range(starts[group], starts[group + 1]):
                for j in range(other_starts[group], other_starts[group + 1]):
                    dx, dy = other_points[j, 0] - points[i, 0], other_points[j, 1] - points[i, 1]
                    limit = reach[i] + other_reach[j]
                    if dx * dx + dy * dy <= limit * limit:
                        if fill:
                            rows[found], others[found] = i, j
                        found += 1
        if not fill:
            rows, others = np.empty(found, np.int64), np.empty(found, np.int64)
    return rows, others
