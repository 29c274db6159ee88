"""The features of all candidates in one file, column after column, of which a part is read at a time.

The file is a plain ``.npy`` matrix in column-major order, a row a candidate. Models want columns (features) of some
rows (images of a split); the file gives just these, so that a run never holds the whole table in memory beside the
part that it works on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from overread.errors import FormatError

__all__ = ["FeatureStore", "encode_columns"]

Floats = NDArray[np.floating]


class FeatureStore:
    """A matrix on disk: candidates x features.

    Parameters
    ----------
    path
        A file that `encode_columns` made.

    Attributes
    ----------
    shape, dtype
        Of the matrix; float32 or float64.

    Raises
    ------
    FormatError
        If the file is no such matrix.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                version = npy.read_magic(file)
                shape, is_fortran, dtype = npy.read_array_header_1_0(file)
                self._first = file.tell()
        except (OSError, ValueError) as error:
            raise FormatError(f"{path.name}: not a matrix of features: {error}") from None
        if version != (1, 0) or not is_fortran or len(shape) != 2 or dtype.kind != "f":
            raise FormatError(f"{path.name}: not a matrix of features in column-major order")
        self.shape: tuple[int, int] = (int(shape[0]), int(shape[1]))
        self.dtype = dtype

    def read_columns(self, columns: Iterable[int]) -> Iterator[Floats]:
        """Give columns one by one, whole."""
        n_rows = self.shape[0]
        with self._path.open("rb") as file:
            for column in columns:
                file.seek(self._first + column * n_rows * self.dtype.itemsize)
                values = np.fromfile(file, dtype=self.dtype, count=n_rows)
                if len(values) < n_rows:
                    raise FormatError(f"{self._path.name}: is cut short")
                yield values

    def take(
        self, rows: NDArray[np.integer], columns: Sequence[int] | NDArray[np.integer] | None = None
    ) -> Floats:
        """Return some rows, in the order asked for, of all or some columns; column-major."""
        chosen = range(self.shape[1]) if columns is None else columns
        matrix = np.empty((len(chosen), len(rows)), dtype=self.dtype)
        for place, values in enumerate(self.read_columns(chosen)):
            np.take(values, rows, out=matrix[place])
        return matrix.T


def encode_columns(
    columns: Iterable[Floats], n_rows: int, n_columns: int, dtype: np.dtype[np.floating]
) -> Iterator[bytes]:
    """Give the bytes of a store, column by column.

    Parameters
    ----------
    columns
        Of ``n_rows`` values each, ``n_columns`` of them.
    n_rows, n_columns, dtype
        Of the matrix.
    """
    header = BytesIO()
    layout = {"descr": npy.dtype_to_descr(dtype), "fortran_order": True, "shape": (n_rows, n_columns)}
    npy.write_array_header_1_0(header, layout)
    yield header.getvalue()
    for column in columns:
        yield np.ascontiguousarray(column, dtype=dtype).tobytes()
