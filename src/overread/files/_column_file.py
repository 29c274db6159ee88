"""A matrix in one file, column after column, which is read in parts.

The file is a plain ``.npy`` matrix in column-major order. Models need columns (features) of some rows (images of a
split); the file gives only these, so that the whole table need not be in memory.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from overread.errors import FormatError, InvalidInputError
from overread.files._atomic import write_atomically

Floats = NDArray[np.floating]


class ColumnFile:
    """A matrix on disk, read by columns.

    Parameters
    ----------
    path
        A file from `encode_columns`, `write_columns`, or ``numpy.save`` of a column-major matrix.

    Attributes
    ----------
    path
        The file.
    shape, dtype
        Shape and type of the matrix; the type is float32 or float64.

    Raises
    ------
    FormatError
        If the file does not contain such a matrix.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
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

    def read_columns(
        self, columns: Iterable[int], first: int = 0, last: int | None = None
    ) -> Iterator[Floats]:
        """Yield columns one by one, complete or the rows from first to last."""
        n_rows = self.shape[0]
        wanted = (n_rows if last is None else last) - first
        with self.path.open("rb") as file:
            for column in columns:
                file.seek(self._first + (int(column) * n_rows + first) * self.dtype.itemsize)
                values = np.fromfile(file, dtype=self.dtype, count=wanted)
                if len(values) < wanted:
                    raise FormatError(f"{self.path.name}: is truncated. Compute it again.")
                yield values

    def take(
        self, rows: NDArray[np.integer], columns: Sequence[int] | NDArray[np.integer] | None = None
    ) -> Floats:
        """Return some rows, in the given order, of all or some columns; column-major.

        From each column, only the range from the first to the last of the rows is read.
        """
        chosen = range(self.shape[1]) if columns is None else columns
        matrix = np.empty((len(chosen), len(rows)), dtype=self.dtype)
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        places = rows - first
        for place, values in enumerate(self.read_columns(chosen, first, last)):
            np.take(values, places, out=matrix[place])
        return matrix.T


def encode_columns(
    columns: Iterable[Floats], n_rows: int, n_columns: int, dtype: np.dtype[np.floating]
) -> Iterator[bytes]:
    """Yield the bytes of a column file, column by column."""
    yield _header(n_rows, n_columns, dtype)
    for column in columns:
        yield np.ascontiguousarray(column, dtype=dtype).tobytes()


def write_columns(
    path: str | Path, blocks: Iterable[Floats], n_rows: int, n_columns: int, dtype: np.dtype[np.floating]
) -> ColumnFile:
    """Write a column file from blocks of rows; only one block is in memory.

    Parameters
    ----------
    path
        Path of the file, which is written atomically.
    blocks
        Matrices of consecutive rows; larger blocks are written faster.
    n_rows, n_columns, dtype
        Size and type of the whole matrix.

    Raises
    ------
    InvalidInputError
        If the blocks do not add up to the matrix.
    """
    place = Path(path)
    write_atomically(
        place, lambda file: fill_columns(file, blocks, n_rows, n_columns, dtype, name=place.name)
    )
    return ColumnFile(place)


def fill_columns(
    file: BinaryIO,
    blocks: Iterable[Floats],
    n_rows: int,
    n_columns: int,
    dtype: np.dtype[np.floating],
    *,
    name: str,
) -> None:
    """Write a column file, as `write_columns` does, to an open, empty file."""
    header = _header(n_rows, n_columns, dtype)
    file.write(header)
    file.flush()
    first = 0
    for block in blocks:
        rows = np.asarray(block)
        if rows.ndim != 2 or rows.shape[1] != n_columns or first + len(rows) > n_rows:
            raise InvalidInputError(
                f"{name}: a block of shape {rows.shape} after {first} rows; the matrix has {n_rows} rows of"
                f" {n_columns} columns"
            )
        _write_block(file.fileno(), len(header), np.ascontiguousarray(rows.T, dtype=dtype), first, n_rows)
        first += len(rows)
    if first < n_rows:
        raise InvalidInputError(f"{name}: the blocks hold {first} of {n_rows} rows")


def _write_block(descriptor: int, start: int, columns: Floats, first: int, n_rows: int) -> None:
    size = columns.dtype.itemsize
    for place, column in enumerate(columns):
        data, offset = memoryview(column).cast("B"), start + (place * n_rows + first) * size
        while data:
            written = os.pwrite(descriptor, data, offset)
            data, offset = data[written:], offset + written


def _header(n_rows: int, n_columns: int, dtype: np.dtype[np.floating]) -> bytes:
    header = BytesIO()
    layout = {"descr": npy.dtype_to_descr(dtype), "fortran_order": True, "shape": (n_rows, n_columns)}
    npy.write_array_header_1_0(header, layout)
    return header.getvalue()
