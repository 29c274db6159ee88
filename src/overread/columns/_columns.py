"""The protocol by which the solver reads standardized features; and features in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from overread.columns._kernels import add_columns, dot_columns, take_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Columns(ABC):
    """Features of n rows, in the order of the loss; products run in float64 whatever their precision.

    `n_read` counts all reads of columns from their store; `sample_bytes` is the memory for the sampled rows of the
    curvature.
    """

    n_features: int
    n_rows: int
    n_read: int = 0
    sample_bytes: float = np.inf

    @abstractmethod
    def dot(self, columns: Ints, residual: Floats, *, hold: bool = False) -> Floats:
        """Return X[:, columns]' residual; hold means that the columns will be needed again soon."""

    @abstractmethod
    def add(self, columns: Ints, factors: Floats, scores: Floats) -> None:
        """Add X[:, columns] factors to scores."""

    @abstractmethod
    def take_rows(self, columns: Ints, rows: Ints, factor: Floats, out: Floats) -> None:
        """Write X[rows[i], columns[c]] factor[i] to out[c, i]."""

    @abstractmethod
    def read_groups(self, columns: Ints, size: int) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield columns in blocks of a size, as rows of a matrix, with their positions in the request.

        The next block may overwrite the matrix.
        """

    @abstractmethod
    def load(self, columns: Ints) -> tuple[NDArray[np.floating], Ints]:
        """Return a matrix in memory, one feature per row, and the rows of the requested columns."""

    @abstractmethod
    def held(self, columns: Ints) -> tuple[NDArray[np.floating], Ints] | None:
        """Return the same as `load`, or None if the columns do not all fit in memory."""


class MemoryColumns(Columns):
    """A matrix of one standardized feature per row (d x n, C order)."""

    def __init__(self, Xt: NDArray[np.floating]) -> None:
        self.Xt = Xt
        self.n_features, self.n_rows = Xt.shape

    def dot(self, columns: Ints, residual: Floats, *, hold: bool = False) -> Floats:
        """Return X[:, columns]' residual; all columns are in memory."""
        out = np.zeros(len(columns))
        dot_columns(self.Xt, columns, 0, self.n_rows, residual, out)
        return out

    def add(self, columns: Ints, factors: Floats, scores: Floats) -> None:
        """Add X[:, columns] factors to scores."""
        add_columns(self.Xt, columns, factors, 0, self.n_rows, scores)

    def take_rows(self, columns: Ints, rows: Ints, factor: Floats, out: Floats) -> None:
        """Write X[rows[i], columns[c]] factor[i] to out[c, i]."""
        take_rows(self.Xt, columns, rows, factor, out)

    def read_groups(self, columns: Ints, size: int) -> Iterator[tuple[slice, NDArray[np.floating]]]:
        """Yield copies of columns in blocks of a size."""
        for first in range(0, len(columns), size):
            group = slice(first, first + size)
            yield group, self.Xt[columns[group]]

    def load(self, columns: Ints) -> tuple[NDArray[np.floating], Ints]:
        """Return the matrix: all columns are in memory."""
        return self.Xt, columns

    held = load
