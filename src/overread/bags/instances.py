"""Reading the matrix of instances: one row an instance, one column a feature, every cell a finite number.

float32 and float64 are kept as they are, without a copy. float16 becomes float32; integers, booleans and
objects that are numbers become float64. Everything else is refused with the row and column at fault. The
checks run in blocks of about a million cells, so that they never need a second matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from overread.bags.stored_instances import StoredInstances
from overread.errors import InputTypeError, InvalidInputError

__all__ = ["FloatMatrix", "InstanceMatrix", "Matrix", "read_instances", "take_rows"]

FloatMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Matrix: TypeAlias = FloatMatrix | StoredInstances

# 4 or 8 MB: small beside any matrix that needs blocks, large beside the cost of a call. Chosen by eye.
CELLS_PER_BLOCK = 2**20
# The significand of IEEE 754 binary64 has 53 bits.
LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class InstanceMatrix:
    """The values of the instances and, where the input had them, the names of the features."""

    values: Matrix
    feature_names: tuple[str, ...] | None

    @property
    def columns(self) -> tuple[str, ...] | int:
        """What two matrices must share to be stacked: the names, or at least the number, of columns."""
        return self.values.shape[1] if self.feature_names is None else self.feature_names


def read_instances(X: Any, *, feature_names: Sequence[str] | None = None) -> InstanceMatrix:
    """Read a 2-D array-like or data frame of finite numbers.

    Parameters
    ----------
    X : array-like or pandas.DataFrame of shape (n_instances, n_features)
        Numbers. Sparse input is refused, never made dense behind the user's back. An ``InstanceMatrix``
        is taken as read, and `StoredInstances` stay where they are: their cells are checked when they are read.
    feature_names : sequence of str, optional
        Names of the columns, in place of those of a data frame.

    Returns
    -------
    InstanceMatrix
        ``values`` shares memory with ``X`` where no conversion was needed.

    Raises
    ------
    InvalidInputError
        For NaN, infinities, integers that float64 cannot hold, no rows or no columns; names row and column.
    InputTypeError
        For sparse, complex, text or other objects.
    """
    if isinstance(X, StoredInstances):
        X = InstanceMatrix(X, X.feature_names)
    matrix = X if isinstance(X, InstanceMatrix) else _read_matrix(X)
    if feature_names is None:
        return matrix
    if len(feature_names) != matrix.values.shape[1]:
        raise InvalidInputError(f"{len(feature_names)} feature names for {matrix.values.shape[1]} columns")
    return InstanceMatrix(matrix.values, _read_names(pd.Index(feature_names)))


@overload
def take_rows(values: FloatMatrix, rows: NDArray[np.int64]) -> FloatMatrix: ...


@overload
def take_rows(values: Matrix, rows: NDArray[np.int64]) -> Matrix: ...


def take_rows(values: Matrix, rows: NDArray[np.int64]) -> Matrix:
    """Return rows in the layout of the matrix; they share its memory where they are neighbours in order.

    A column-major matrix is faster gathered column by column.
    """
    if isinstance(values, StoredInstances):
        return values.take_rows(rows)
    # Some rows of a column-major matrix would be contiguous in no direction, and slow to work on.
    sharable = values.flags.c_contiguous or len(rows) == len(values)
    if sharable and len(rows) and (np.diff(rows) == 1).all():
        return values[rows[0] : rows[-1] + 1]
    if values.flags.f_contiguous and not values.flags.c_contiguous:
        return values.T.take(rows, axis=1).T
    return values.take(rows, axis=0)


def _read_matrix(X: Any) -> InstanceMatrix:
    if issparse(X):
        raise InputTypeError("X is a sparse matrix; bags hold dense instances: pass X.toarray() if it fits")
    if isinstance(X, pd.DataFrame):
        names = _read_names(X.columns)
        values = _values_of_frame(X)
    else:
        names = None
        values = _values_of_array(X)
    _refuse_empty(values)
    _refuse_nonfinite(values, names)
    return InstanceMatrix(values, names)


def _read_names(columns: pd.Index[Any]) -> tuple[str, ...] | None:
    are_text = [isinstance(name, str) for name in columns]
    if not any(are_text):
        return None
    if not all(are_text):
        raise InputTypeError(
            "X has columns named by text and columns named by other things; feature names must all be text: "
            "X.columns = X.columns.astype(str)"
        )
    repeated = columns[columns.duplicated()]
    if len(repeated):
        raise InvalidInputError(f"X has two columns named {repeated[0]!r}; feature names must differ")
    return tuple(columns)


def _values_of_frame(frame: pd.DataFrame) -> FloatMatrix:
    single = True
    objects: dict[int, NDArray[np.float64]] = {}
    for position, dtype in enumerate(frame.dtypes):
        place = f"column {frame.columns[position]!r}"
        if isinstance(dtype, pd.SparseDtype):
            raise InputTypeError(f"X {place} is sparse; bags hold dense instances: X.sparse.to_dense()")
        kind, size = getattr(dtype, "kind", "O"), getattr(dtype, "itemsize", 8)
        single = single and kind == "f" and size <= 4
        if kind in "iu" and size >= 8:
            column = frame.iloc[:, position]
            _refuse_inexact_integers(column.dropna().to_numpy(np.dtype(f"{kind}8"))[:, None], place)
        elif kind == "O" and not isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
            cells = frame.iloc[:, position].to_numpy(dtype=object)
            objects[position] = _numbers_of_objects(cells[:, None], place)[:, 0]
        elif kind not in "fiub":
            raise InputTypeError(f"X {place} has type {dtype}; features must be numbers")
    if not objects:
        return frame.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
    columns = [
        objects[i] if i in objects else frame.iloc[:, i].to_numpy(dtype=np.float64, na_value=np.nan)
        for i in range(frame.shape[1])
    ]
    return np.column_stack(columns)


def _values_of_array(X: Any) -> FloatMatrix:
    if np.ma.is_masked(X):
        row = int(np.flatnonzero(np.ma.getmaskarray(X).reshape(len(X), -1).any(axis=1))[0])
        raise InvalidInputError(f"X row {row} has a masked cell: fill or drop it, a mask would be lost here")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InvalidInputError(f"X is not a matrix, its rows differ in length: {error}") from error
    if values.ndim != 2:
        raise InvalidInputError(
            f"Expected 2D array of instances, got {values.ndim}D array instead. Reshape your data with "
            "X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a single instance."
        )
    return _as_floating(values)


def _as_floating(values: NDArray[Any]) -> FloatMatrix:
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "f":
        with np.errstate(over="ignore"):
            return (
                values.astype(np.float32, copy=False) if size <= 4 else values.astype(np.float64, copy=False)
            )
    if kind in "iub":
        if size >= 8:
            _refuse_inexact_integers(values, "")
        return values.astype(np.float64)
    if kind == "O":
        return _numbers_of_objects(values, "")
    if kind == "c":
        raise InputTypeError("Complex data not supported: X holds complex numbers; features must be real")
    raise InputTypeError(f"X has type {values.dtype}; features must be numbers")


def _numbers_of_objects(cells: NDArray[Any], place: str) -> NDArray[np.float64]:
    for (row, column), cell in np.ndenumerate(cells):
        if not isinstance(cell, Number) or isinstance(cell, complex | np.complexfloating):
            raise InputTypeError(
                f"X row {row}, {place or f'column {column}'} holds {cell!r} of type {type(cell).__name__}: "
                "the argument must be neither string nor object, but a real number"
            )
    integers = [cell for cell in cells.flat if isinstance(cell, int) and abs(cell) > LARGEST_EXACT_INTEGER]
    if integers:
        raise InvalidInputError(f"X holds the integer {integers[0]}, beyond 2^53, where float64 is not exact")
    return cells.astype(np.float64)


def _refuse_inexact_integers(values: NDArray[Any], place: str) -> None:
    for start, block in _blocks(values):
        too_large = block > LARGEST_EXACT_INTEGER
        if block.dtype.kind == "i":
            too_large |= block < -LARGEST_EXACT_INTEGER
        if too_large.any():
            row, column = np.argwhere(too_large)[0]
            raise InvalidInputError(
                f"X row {start + row}, {place or f'column {column}'} is {block[row, column]}, beyond 2^53, "
                "where float64 is not exact: rescale it, or make it float yourself"
            )


def _refuse_empty(values: FloatMatrix) -> None:
    n_rows, n_columns = values.shape
    if n_rows == 0:
        raise InvalidInputError(
            f"Found array with 0 sample(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
        )
    if n_columns == 0:
        raise InvalidInputError(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )


def _refuse_nonfinite(values: FloatMatrix, names: tuple[str, ...] | None) -> None:
    by_column = values.flags.f_contiguous and not values.flags.c_contiguous
    for start, block in _blocks(values.T if by_column else values):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum()):
                continue
        bad = np.argwhere(~np.isfinite(block))
        if len(bad):
            row, column = (bad[0] + [start, 0])[:: -1 if by_column else 1]
            found = "NaN" if np.isnan(values[row, column]) else f"infinity ({values[row, column]})"
            where = f"column {column}" if names is None else f"column {names[column]!r}"
            raise InvalidInputError(
                f"Input X contains {found} at row {row}, {where}: impute or drop it before making bags"
            )


def _blocks(values: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    step = max(1, CELLS_PER_BLOCK // max(1, values.shape[1]))
    return ((start, values[start : start + step]) for start in range(0, len(values), step))
