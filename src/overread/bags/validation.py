"""Checks of what a ``Bags`` is made of, of the keys that index it, and of the tables it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags.ids import RowIds, read_ids
from overread.errors import InputTypeError, InvalidInputError, TableError

__all__ = [
    "key_of_bags",
    "offsets_of_sizes",
    "positions_of",
    "read_bag_ids",
    "read_bag_labels",
    "read_bag_table",
    "read_bag_weights",
    "read_groups",
    "read_instance_ids",
    "read_offsets",
    "read_source_rows",
    "refuse_empty_bags",
    "refuse_repeated",
    "refuse_shared",
    "require_columns",
    "same_array",
    "same_table",
]


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


def refuse_empty_bags(offsets: NDArray[np.int64], bag_ids: NDArray[Any]) -> None:
    """Name the first bag without instances."""
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        raise InvalidInputError(
            f"bag {bag_ids[empty[0]]!r} is empty; a bag needs at least one instance: drop it"
        )


def read_bag_ids(bag_ids: Any, n_bags: int) -> NDArray[Any]:
    """Check that there is one different id a bag; 0, 1, ... for None."""
    if bag_ids is None:
        return np.arange(n_bags)
    row_ids = read_ids(bag_ids, n_rows=n_bags, name="bag_ids")
    if len(row_ids.ids) < n_bags:
        first, second = _first_repetition(row_ids)
        raise InvalidInputError(
            f"bag id {row_ids.ids[row_ids.codes[first]]!r} is given to bags {first} and {second}"
        )
    return row_ids.ids


def read_instance_ids(
    instance_ids: Any, offsets: NDArray[np.int64], bag_ids: NDArray[Any]
) -> NDArray[Any] | None:
    """Check that no instance is in two bags, nor twice in one."""
    if instance_ids is None:
        return None
    row_ids = read_ids(instance_ids, n_rows=int(offsets[-1]), name="instance_ids")
    if len(row_ids.ids) < len(row_ids.codes):
        rows = _first_repetition(row_ids)
        first, second = bag_ids[np.searchsorted(offsets, rows, side="right") - 1]
        name = repr(row_ids.ids[row_ids.codes[rows[0]]])
        if first == second:
            raise InvalidInputError(f"instance id {name} is duplicated in bag {first!r}")
        raise InvalidInputError(
            f"instance {name} is in two bags, {first!r} and {second!r}; it can be in one only"
        )
    return row_ids.ids


def _first_repetition(row_ids: RowIds) -> tuple[int, int]:
    repeated = np.flatnonzero(pd.Series(row_ids.codes).duplicated())
    second = int(repeated[0])
    return int(np.flatnonzero(row_ids.codes == row_ids.codes[second])[0]), second


def read_groups(groups: Any, n_bags: int) -> NDArray[Any] | None:
    """Check that there is one group a bag, all of one type."""
    if groups is None:
        return None
    row_ids = read_ids(groups, n_rows=n_bags, name="groups")
    return row_ids.ids[row_ids.codes]


def read_bag_labels(labels: Any, bag_ids: NDArray[Any]) -> NDArray[np.float64] | None:
    """Check that every bag has a label in [0, 1]."""
    if labels is None:
        return None
    values = _read_numbers(labels, len(bag_ids), "labels")
    _refuse_where(~((values >= 0) & (values <= 1)), values, bag_ids, "label", "it must lie in [0, 1]")
    return values


def read_bag_weights(weights: Any, bag_ids: NDArray[Any]) -> NDArray[np.float64] | None:
    """Check that every bag has a finite weight, none of them negative."""
    if weights is None:
        return None
    values = _read_numbers(weights, len(bag_ids), "reader_weight")
    refused = ~(np.isfinite(values) & (values >= 0))
    _refuse_where(refused, values, bag_ids, "reader weight", "it must be finite and not negative")
    return values


def _read_numbers(values: Any, n_bags: int, name: str) -> NDArray[np.float64]:
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be numbers, one a bag: {error}") from error
    if numbers.shape != (n_bags,):
        raise InvalidInputError(f"{name} has shape {numbers.shape} for {n_bags} bags")
    return numbers


def _refuse_where(
    refused: NDArray[np.bool_], values: NDArray[np.float64], bag_ids: NDArray[Any], name: str, rule: str
) -> None:
    if refused.any():
        first = int(np.flatnonzero(refused)[0])
        raise InvalidInputError(f"the {name} of bag {bag_ids[first]!r} is {float(values[first])!r}; {rule}")


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
            raise InvalidInputError(f"{what} {shared!r} is in two of the parts; give {what}s ids that differ")
        seen |= ids


def same_array(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    """Compare two arrays that may be absent."""
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first, second))


def same_table(first: pd.DataFrame | None, second: pd.DataFrame | None) -> bool:
    """Compare two tables that may be absent."""
    if first is None or second is None:
        return first is second
    return first.equals(second)


def require_columns(table: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    for column in columns:
        if column not in table:
            raise TableError(f"{name}: no column {column}; it has {', '.join(map(str, table.columns[:20]))}")


def refuse_repeated(table: pd.DataFrame, name: str, keys: Sequence[str]) -> None:
    """Refuse a table with two rows of one key."""
    repeated = np.flatnonzero(table.duplicated(list(keys)).to_numpy())
    if len(repeated):
        row = table.iloc[repeated[0]]
        found = ", ".join(f"{key} {row[key]!r}" for key in keys)
        raise TableError(f"{name} row {repeated[0]}: {found} is there twice; one row each")
