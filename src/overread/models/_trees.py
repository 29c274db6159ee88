"""Compiled sums over trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel


@kernel
def sum_trees(
    X: NDArray[np.float64],
    roots: NDArray[np.int64],
    feature: NDArray[np.int64],
    threshold: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    value: NDArray[np.float64],
    missing_left: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Sum of the leaves that each row of X falls into, over all trees.

    A row goes left where its value is at most the threshold, or missing and missing values go left.
    """
    total = np.zeros(len(X))
    for i in range(len(X)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                x = X[i, feature[node]]
                goes_left = missing_left[node] == 1 if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            total[i] += value[node]
    return total
