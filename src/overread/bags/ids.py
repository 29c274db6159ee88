"""Reading ids: one hashable thing a row, all of one type, kept exactly and never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InputTypeError, InvalidInputError

__all__ = ["RowIds", "object_array", "read_ids"]


@dataclass(frozen=True)
class RowIds:
    """The ids of rows, as numbers and names.

    ``codes[i]`` is the position in ``ids`` of the id of row i; ``ids`` are in order of first appearance.
    """

    codes: NDArray[np.int64]
    ids: NDArray[Any]


def object_array(items: Sequence[Any]) -> NDArray[Any]:
    """Make a 1-D array of objects, also of tuples, which numpy would otherwise spread over two axes."""
    return np.fromiter(items, dtype=object, count=len(items))


def read_ids(ids: Any, *, n_rows: int, name: str) -> RowIds:
    """Group rows by their ids.

    Parameters
    ----------
    ids : sequence of hashable
        One id a row, all of one type; equal ids need not be neighbours.
    n_rows : int
        How many ids there must be.
    name : str
        What to call the ids in an error.

    Raises
    ------
    InvalidInputError
        For a missing id (None, NaN, NaT, NA), or a number of ids that is not ``n_rows``.
    InputTypeError
        For ids of mixed type, unhashable ids, or more than one id a row.
    """
    values = _as_vector(ids, name)
    if len(values) != n_rows:
        raise InvalidInputError(f"{name} has {len(values)} ids for {n_rows} rows; there must be one id a row")
    _refuse_missing(values, name)
    if values.dtype == object:
        _refuse_mixed_types(values, name)
    try:
        codes, unique = pd.factorize(values)
    except TypeError as error:
        raise InputTypeError(f"{name} must be hashable: {error}") from error
    if len(unique) and _kind(unique[0]) in ("bool", "int", "float"):
        unique = np.array(unique.tolist())
    return RowIds(codes.astype(np.int64), unique)


def _as_vector(ids: Any, name: str) -> NDArray[Any]:
    if isinstance(ids, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        ids = ids.to_numpy()
    if not isinstance(ids, np.ndarray):
        try:
            return object_array(list(ids))
        except TypeError as error:
            raise InputTypeError(
                f"{name} must be a sequence of ids, one a row, got {type(ids).__name__}"
            ) from error
    if ids.ndim != 1:
        raise InputTypeError(
            f"{name} has shape {ids.shape}: one id a row, since an instance is in one bag only"
        )
    return ids.astype(object) if ids.dtype.kind in "US" else ids


def _refuse_missing(values: NDArray[Any], name: str) -> None:
    missing = np.flatnonzero(pd.isna(values))
    if len(missing):
        row = int(missing[0])
        raise InvalidInputError(f"{name} row {row} is {values[row]!r}; every row needs an id, NaN is not one")


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
