"""Instances in a file: a table larger than memory, whose columns are read on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.files import ColumnFile

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]


@short_repr("path", "shape", "dtype")
class StoredInstances:
    """A matrix of instances in a column-major ``.npy`` file, or some rows of it.

    `Bags` take it as they take an array, and the soft models fit it without holding it
    (`SoftMILPath(memory_mb=...)`); what needs the whole matrix says so. `write_columns`
    makes such a file from blocks of rows.

    Parameters
    ----------
    path : str or Path
        The file.
    feature_names : sequence of str, optional
        Names of the columns.
    rows : array-like of int, optional
        Rows of the file, in the order wanted; None: all.
    client : distributed.Client, optional
        A ``distributed.Client``: products with the instances are then made by the workers of its cluster, which find
        the file under the same path.

    Attributes
    ----------
    path, feature_names, rows, client
        As given.
    shape, dtype
        Shape and type of the selected rows.

    Raises
    ------
    FormatError
        If the file is not a column-major matrix of floating-point numbers.
    InvalidInputError
        If it is empty, or names or rows do not fit it.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from overread import Bags, StoredInstances
    >>> file = tempfile.NamedTemporaryFile(suffix=".npy")
    >>> np.save(file, np.asfortranarray(np.arange(6.0).reshape(3, 2)))
    >>> file.flush()
    >>> Bags.from_ids(StoredInstances(file.name), ["a", "b", "a"])
    Bags(2 bags, 3 instances, 2 features, float64, largest bag 2)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        feature_names: Sequence[str] | None = None,
        rows: Ints | None = None,
        client: Any = None,
    ) -> None:
        self.path = Path(path)
        self.feature_names = None if feature_names is None else tuple(feature_names)
        self._file = ColumnFile(self.path)
        self.rows = rows
        self.client = client
        n_rows, n_columns = self._file.shape
        if n_rows == 0 or n_columns == 0:
            raise InvalidInputError(f"{self.path.name}: holds no instances: its shape is {self._file.shape}")
        if self.feature_names is not None and len(self.feature_names) != n_columns:
            raise InvalidInputError(f"{len(self.feature_names)} feature names for {n_columns} columns")
        if rows is not None and len(rows) and not (rows.min() >= 0 and rows.max() < n_rows):
            raise InvalidInputError(f"rows: {rows.min()} to {rows.max()} of {n_rows}")
        self.shape: tuple[int, int] = (n_rows if rows is None else len(rows), n_columns)
        self.dtype = self._file.dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Memory that the matrix would take."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def read_columns(self, columns: Iterable[int]) -> Iterator[Floats]:
        """Give columns one by one.

        Raises
        ------
        InvalidInputError
            For a cell that is not finite, with its row and column.
        """
        wanted = [int(column) for column in columns]
        first, last, places = 0, self._file.shape[0], self.rows
        if places is not None and len(places):
            first, last = int(places.min()), int(places.max()) + 1
            places = None if len(places) == last - first and (np.diff(places) == 1).all() else places - first
        for column, values in zip(wanted, self._file.read_columns(wanted, first, last), strict=True):
            chosen = values if places is None else values[places]
            self._refuse_nonfinite(column, chosen)
            yield chosen

    def take_rows(self, rows: Ints) -> StoredInstances:
        """Return some of the rows, in the order asked for; nothing is read."""
        chosen = np.asarray(rows, dtype=np.int64) if self.rows is None else self.rows[rows]
        return StoredInstances(self.path, feature_names=self.feature_names, rows=chosen, client=self.client)

    def read(self) -> Floats:
        """Read the whole matrix into memory, column-major."""
        matrix = np.empty(self.shape[::-1], dtype=self.dtype)
        for place, values in enumerate(self.read_columns(range(self.shape[1]))):
            matrix[place] = values
        return matrix.T

    def _refuse_nonfinite(self, column: int, values: Floats) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            name = column if self.feature_names is None else repr(self.feature_names[column])
            row = int(bad[0]) if self.rows is None else int(self.rows[bad[0]])
            raise InvalidInputError(
                f"{self.path.name}: row {row}, column {name} is {values[bad[0]]}: impute or drop it"
            )
