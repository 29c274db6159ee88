"""Compiled loops of the models that belong neither to the loss nor to the solver: moments of rows, trees, curvature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel


@kernel
def describe_rows(
    Xt: np.ndarray, weight: np.ndarray, means: np.ndarray, spreads: np.ndarray, norms: np.ndarray
) -> None:
    """Mean, standard deviation and Euclidean norm of each row; weight sums to 1."""
    for j in range(Xt.shape[0]):
        x = Xt[j]
        mean = 0.0
        square = 0.0
        total = 0.0
        for i in range(x.size):
            value = float(x[i])
            mean += weight[i] * value
            square += weight[i] * (value * value)
            total += value * value
        means[j] = mean
        spreads[j] = math.sqrt(max(square - mean * mean, 0.0))
        norms[j] = math.sqrt(total)


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


@kernel
def weigh_rows(Xt: np.ndarray, columns: np.ndarray, first: int, root: np.ndarray, out: np.ndarray) -> None:
    """out[c, i] = Xt[columns[c], first + i] root[i]; the last row of out, the intercept's, is root."""
    for c in range(columns.size):
        x = Xt[columns[c]][first : first + root.size]
        row = out[c]
        for i in range(root.size):
            row[i] = x[i] * root[i]
    out[columns.size] = root
