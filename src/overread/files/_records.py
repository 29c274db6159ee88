"""Records as JSON and back: a dataclass is an object of its fields, and its type hints say how to read it.

A table is an object of its columns, an array a list. JSON has no NaN and no infinities: they become null, and null
is read as NaN where a number is wanted. So a record that is typed once is written, read and checked without a second
description of it.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from overread.errors import FormatError

Record = TypeVar("Record")


def to_json(value: Any) -> Any:
    """Turn records, tables, arrays and numbers into plain JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, pd.DataFrame):
        return {str(name): to_json(value[name].tolist()) for name in value.columns}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value is pd.NA else value


def from_json(kind: type[Record], value: Any, place: str = "") -> Record:
    """Read a record of a dataclass from plain JSON values.

    Parameters
    ----------
    kind
        The dataclass.
    value
        What `to_json` gave.
    place
        Begins the place in messages, such as ``"results.json"``.

    Raises
    ------
    FormatError
        Naming the place of a value that is missing, unknown or of another type.
    """
    record: Record = _read(kind, value, place)
    return record


def _read(kind: Any, value: Any, place: str) -> Any:
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _read_record(kind, value, place)
    if kind is pd.DataFrame:
        return _read_table(value, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, value, place)
    if origin is Literal:
        return value if value in arguments else _refuse(value, f"one of {arguments}", place)
    if origin is np.ndarray:
        return _read_array(arguments, value, place)
    if origin in (list, tuple, Sequence):
        return _read_sequence(origin, arguments, value, place)
    if origin in (dict, Mapping):
        items = value.items() if isinstance(value, dict) else _refuse(value, "an object", place)
        return {
            _read_key(arguments[0], name, f"{place}.{name}"): _read(arguments[1], item, f"{place}.{name}")
            for name, item in items
        }
    return _read_plain(kind, value, place)


def _read_record(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        _refuse(value, "an object", place)
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    for name in sorted(names ^ value.keys()):
        raise FormatError(f"{place}.{name}: {'is missing' if name in names else 'is not known'}".lstrip("."))
    return kind(
        **{one.name: _read(hints[one.name], value[one.name], f"{place}.{one.name}") for one in fields(kind)}
    )


def _read_table(value: Any, place: str) -> pd.DataFrame:
    if not isinstance(value, dict) or not all(isinstance(column, list) for column in value.values()):
        _refuse(value, "an object of columns", place)
    if len({len(column) for column in value.values()}) > 1:
        raise FormatError(f"{place}: its columns differ in length".lstrip("."))
    return pd.DataFrame({name: _read_column(column) for name, column in value.items()})


def _read_column(values: list[Any]) -> pd.Series[Any]:
    """Make a column; where nothing but nulls stands, the numbers are missing."""
    if values and all(value is None for value in values):
        return pd.Series(np.full(len(values), np.nan))
    return pd.Series(values) if values else pd.Series(values, dtype="object")


def _read_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    others = [kind for kind in kinds if kind is not type(None)]
    for kind in others[:-1]:
        try:
            return _read(kind, value, place)
        except FormatError:
            continue
    return _read(others[-1], value, place)


def _read_array(arguments: tuple[Any, ...], value: Any, place: str) -> Any:
    if not isinstance(value, list):
        _refuse(value, "a list of numbers", place)
    dtype = get_args(arguments[1])[0]
    numbers = np.array(value, dtype=object)
    try:
        return np.where(numbers == None, np.nan, numbers).astype(dtype)  # noqa: E711
    except (TypeError, ValueError):
        return _refuse(value, "a list of numbers", place)


def _read_sequence(origin: Any, arguments: tuple[Any, ...], value: Any, place: str) -> Any:
    if not isinstance(value, list):
        _refuse(value, "a list", place)
    fixed = origin is tuple and Ellipsis not in arguments
    if fixed and len(value) != len(arguments):
        _refuse(value, f"a list of {len(arguments)}", place)
    kinds = arguments if fixed else [arguments[0]] * len(value)
    items = [
        _read(kind, item, f"{place}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    ]
    return tuple(items) if origin is tuple else items


def _read_key(kind: Any, name: str, place: str) -> Any:
    try:
        return int(name) if kind is int else name
    except ValueError:
        return _refuse(name, "a whole number", place)


def _read_plain(kind: Any, value: Any, place: str) -> Any:
    if kind is float:
        if value is None:
            return math.nan
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
        return value
    return _refuse(value, f"of type {kind.__name__}", place)


def _refuse(value: Any, wanted: str, place: str) -> Any:
    shown = repr(value)
    raise FormatError(f"{place}: {shown[:60]} is not {wanted}".lstrip("."))
