"""Checks of what a ``Bags`` is made of, of the keys that index it, and of the tables it comes from.

Instances are a matrix with one row per instance and one column per feature, every cell a finite number. float32 and
float64 are kept as they are, without a copy. float16 becomes float32; integers, booleans and objects that are numbers
become float64. Everything else is refused with the row and column at fault. The checks run in blocks of about a
million cells, so that they never need a second matrix. Ids are hashable and all of one type; they are kept exactly.
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

from overread.bags._stored_instances import StoredInstances
from overread.errors import InputTypeError, InvalidInputError, TableError

FloatMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Matrix: TypeAlias = FloatMatrix | StoredInstances

# 4 or 8 MB: small beside any matrix that needs blocks, large beside the cost of a call. Set by judgement.
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
    """Read a 2-D array-like or data frame of finite numbers."""
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
    """Return rows in the layout of the matrix; they share its memory if they are contiguous and in order.

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
            if size <= 4:
                return values.astype(np.float32, copy=False)
            return values.astype(np.float64, copy=False)
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
    for count, what in zip(values.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise InvalidInputError(
                f"Found array with 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required."
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


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Make a 1-D array of objects, also of tuples, which numpy would otherwise spread over two axes."""
    return np.fromiter(items, dtype=object, count=len(items))


def read_ids(ids: Any, *, n_rows: int, name: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of each row's id, and the ids by number, in order of first appearance."""
    values = _as_vector(ids, name)
    if len(values) != n_rows:
        raise InvalidInputError(f"{name} has {len(values)} ids for {n_rows} rows; give one id per row")
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        row = int(missing[0])
        raise InvalidInputError(f"{name} row {row} is {values[row]!r}; every row needs an id, NaN is not one")
    if values.dtype == object:
        _refuse_mixed_types(values, name)
    try:
        codes, unique = pd.factorize(values)
    except TypeError as error:
        raise InputTypeError(f"{name} must be hashable: {error}") from error
    if len(unique) and _kind(unique[0]) in ("bool", "int", "float"):
        unique = np.array(unique.tolist())
    return codes.astype(np.int64), unique


def _as_vector(ids: Any, name: str) -> NDArray[Any]:
    if isinstance(ids, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        ids = ids.to_numpy()
    if not isinstance(ids, np.ndarray):
        try:
            return object_array(list(ids))
        except TypeError as error:
            raise InputTypeError(
                f"{name} must be a sequence of ids, one per row, got {type(ids).__name__}"
            ) from error
    if ids.ndim != 1:
        raise InputTypeError(
            f"{name} has shape {ids.shape}: give one id per row, because an instance is in one bag only"
        )
    return ids.astype(object) if ids.dtype.kind in "US" else ids


def _refuse_mixed_types(values: NDArray[Any], name: str) -> None:
    if len(set(map(type, values))) <= 1:
        return
    first = _kind(values[0])
    for row, value in enumerate(values):
        if _kind(value) != first:
            raise InputTypeError(
                f"{name} mixes types: row 0 is {values[0]!r} ({first}), row {row} is {value!r} "
                f"({_kind(value)}); make them all text or all integers"
            )


def _kind(value: Any) -> str:
    # True == 1 == 1.0 hash alike, so that mixing them would join bags in silence.
    for kind, types in (
        ("bool", (bool, np.bool_)),
        ("int", (int, np.integer)),
        ("float", (float, np.floating)),
        ("str", str),
    ):
        if isinstance(value, types):
            return kind
    return type(value).__name__


def offsets_of_sizes(sizes: Any) -> NDArray[np.int64]:
    """Return 0, then the running sum of the sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def key_of_bags(key: Any) -> Any:
    """Take the ellipsis from a key: scikit-learn indexes whatever has a shape with ``[rows, ...]``."""
    if not isinstance(key, tuple):
        return key
    rest = [part for part in key if part is not Ellipsis]
    if len(rest) != 1:
        raise IndexError("Bags has one axis, the bags; index bags.instances for rows and columns")
    return rest[0]


def positions_of(key: Any, n_bags: int) -> NDArray[np.int64]:
    """Turn a slice, a mask or a list of integers into positions of bags."""
    if not isinstance(key, slice):
        key = np.asarray(key)
        key = key.astype(np.int64) if key.size == 0 else key
        if key.ndim != 1 or key.dtype.kind not in "iub":
            raise IndexError(f"bags are indexed by integers, slices and masks, not by {key!r}")
    return np.arange(n_bags)[key]


def read_offsets(offsets: Any, n_instances: int) -> NDArray[np.int64]:
    """Check that the offsets run from 0 to ``n_instances`` and never go back."""
    values = np.asarray(offsets)
    if values.ndim != 1 or len(values) < 2 or values.dtype.kind not in "iu":
        raise InvalidInputError("offsets must be a vector of at least two integers: no bags otherwise")
    values = values.astype(np.int64)
    if values[0] != 0 or values[-1] != n_instances or (np.diff(values) < 0).any():
        raise InvalidInputError(
            f"offsets must increase from 0 to the number of instances, {n_instances}; "
            f"they run from {values[0]} to {values[-1]}"
        )
    return values


def read_bag_ids(bag_ids: Any, n_bags: int) -> NDArray[Any]:
    """Check that there is one different id a bag; 0, 1, ... for None."""
    if bag_ids is None:
        return np.arange(n_bags)
    codes, ids = read_ids(bag_ids, n_rows=n_bags, name="bag_ids")
    if len(ids) < n_bags:
        first, second = _first_repetition(codes)
        raise InvalidInputError(f"bag id {ids[codes[first]]!r} is given to bags {first} and {second}")
    return ids


def read_instance_ids(
    instance_ids: Any, offsets: NDArray[np.int64], bag_ids: NDArray[Any]
) -> NDArray[Any] | None:
    """Check that no instance is in two bags, nor twice in one."""
    if instance_ids is None:
        return None
    codes, ids = read_ids(instance_ids, n_rows=int(offsets[-1]), name="instance_ids")
    if len(ids) < len(codes):
        rows = _first_repetition(codes)
        first, second = bag_ids[np.searchsorted(offsets, rows, side="right") - 1]
        name = repr(ids[codes[rows[0]]])
        if first == second:
            raise InvalidInputError(f"instance id {name} is duplicated in bag {first!r}")
        raise InvalidInputError(
            f"instance {name} is in two bags, {first!r} and {second!r}; it can be in one only"
        )
    return ids


def _first_repetition(codes: NDArray[np.int64]) -> tuple[int, int]:
    second = int(np.flatnonzero(pd.Series(codes).duplicated())[0])
    return int(np.flatnonzero(codes == codes[second])[0]), second


def read_groups(groups: Any, n_bags: int) -> NDArray[Any] | None:
    """Check that there is one group a bag, all of one type."""
    if groups is None:
        return None
    codes, ids = read_ids(groups, n_rows=n_bags, name="groups")
    return ids[codes]


# Largest number that a bag may carry, what it is called, and the rule.
BAG_NUMBERS = {
    "labels": (1.0, "label", "it must lie in [0, 1]"),
    "reader_weight": (np.finfo(np.float64).max, "reader weight", "it must be finite and not negative"),
}


def read_bag_numbers(values: Any, bag_ids: NDArray[Any], name: str) -> NDArray[np.float64] | None:
    """Check that every bag has a label, or a weight, within its bounds."""
    if values is None:
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be numbers, one per bag: {error}") from error
    if numbers.shape != bag_ids.shape:
        raise InvalidInputError(f"{name} has shape {numbers.shape} for {len(bag_ids)} bags")
    largest, what, rule = BAG_NUMBERS[name]
    refused = np.flatnonzero(~((numbers >= 0) & (numbers <= largest)))
    if len(refused):
        bag, number = bag_ids[refused[0]], float(numbers[refused[0]])
        raise InvalidInputError(f"the {what} of bag {bag!r} is {number!r}; {rule}")
    return numbers


def read_weights(weight: object, n_bags: int, name: str) -> NDArray[np.float64]:
    """Return one finite weight >= 0 per bag, not all zero; None means ones."""
    if weight is None:
        return np.ones(n_bags)
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers: {error}") from error
    if values.ndim == 0:
        values = np.full(n_bags, values)
    if values.shape != (n_bags,):
        raise InvalidInputError(
            f"{name} has shape {values.shape}; give one weight for each of the {n_bags} bags"
        )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if wrong.size:
        raise InvalidInputError(f"{name}[{wrong[0]}] is {values[wrong[0]]}; weights must be finite and >= 0")
    if not values.any():
        raise InvalidInputError(f"{name} is zero for every bag: at least one weight must be positive")
    return values


def read_bag_table(table: pd.DataFrame | None, n_bags: int) -> pd.DataFrame | None:
    """Check that the table has one row a bag, and number its rows from 0."""
    if table is None:
        return None
    if not isinstance(table, pd.DataFrame):
        raise InputTypeError(f"bag_table must be a data frame, got {type(table).__name__}")
    if len(table) != n_bags:
        raise InvalidInputError(f"bag_table has {len(table)} rows for {n_bags} bags")
    return table.reset_index(drop=True)


def read_source_rows(rows: Any, n_instances: int) -> NDArray[np.int64]:
    """Return the rows the instances came from; their own positions for None."""
    if rows is None:
        return np.arange(n_instances)
    values = np.asarray(rows, dtype=np.int64)
    if values.shape != (n_instances,):
        raise InvalidInputError(f"source_rows has shape {values.shape} for {n_instances} instances")
    return values


def refuse_shared(parts: Sequence[NDArray[Any] | None], what: str) -> None:
    """Refuse an id that is in two of the parts."""
    seen: set[Any] = set()
    for part in parts:
        ids = set() if part is None else set(part.tolist())
        if not seen.isdisjoint(ids):
            shared = min(seen & ids, key=repr)
            raise InvalidInputError(f"{what} {shared!r} is in two parts; give each {what} its own id")
        seen |= ids


def require_columns(
    table: pd.DataFrame, name: str, columns: Sequence[str], *, key: Sequence[str] = ()
) -> None:
    """Refuse a table that lacks a column, or has two rows of one key."""
    for column in columns:
        if column not in table:
            raise TableError(f"{name}: no column {column}; it has {', '.join(map(str, table.columns[:20]))}")
    if not key:
        return
    repeated = np.flatnonzero(table.duplicated(list(key)).to_numpy())
    if len(repeated):
        row = table.iloc[repeated[0]]
        found = ", ".join(f"{column} {row[column]!r}" for column in key)
        raise TableError(f"{name} row {repeated[0]}: {found} is there twice; give one row each")
