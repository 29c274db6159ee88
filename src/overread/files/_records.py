"""Records as JSON and back: a dataclass becomes an object of its fields, which is read by its type hints.

A table is an object of its columns, an array a list. JSON has no NaN and no infinities: they become null, and null is
read as NaN where a number is expected. So the type hints of a record are enough to write, read and check it. `cattrs`
walks the types; the hooks here make it strict and add the path to errors.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NewType, TypeVar, Union, get_args, get_origin

import numpy as np
import pandas as pd
from cattrs import ClassValidationError, Converter, IterableValidationError
from cattrs.cols import homogenous_tuple_structure_factory, list_structure_factory, mapping_structure_factory
from cattrs.errors import IterableValidationNote
from cattrs.gen import make_dict_structure_fn

from overread.errors import FormatError, OverreadError

Record = TypeVar("Record")

_CONVERTER = Converter()
_NumberKey = NewType("_NumberKey", int)
# Types that the items of an array may have in JSON, by the kind of its numpy type.
_ITEM_TYPES: dict[str, set[type]] = {
    "f": {int, float, NoneType},
    "i": {int},
    "u": {int},
    "b": {bool},
    "O": {str},
    "U": {str},
}


def later(default: Any) -> Any:
    """Declare a field added after the first files: omitted at its default, so that old files keep their bytes."""
    return dataclasses.field(default=default, metadata={"later": True})


def to_json(value: Any, *, keep_nan: bool = False) -> Any:
    """Turn records, tables, arrays and numbers into plain JSON values; ``keep_nan`` keeps NaN, to be refused later."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if value is None or isinstance(value, str | int):
            return value
        if isinstance(value, float):
            return value if keep_nan or math.isfinite(value) else None
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, Mapping):
            return {str(name): plain(item) for name, item in value.items()}
        if isinstance(value, Path):
            return str(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {one.name: plain(getattr(value, one.name)) for one in _written(value)}
        if isinstance(value, pd.DataFrame):
            return {str(name): plain(value[name].tolist()) for name in value.columns}
        return None if value is pd.NA else value

    return plain(value)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON text of a value for `to_json`; NaN and infinities become null."""
    return json.dumps(to_json(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _written(record: Any) -> list[dataclasses.Field[Any]]:
    """Fields of a record, without later fields at their default."""
    return [
        one
        for one in dataclasses.fields(record)
        if "later" not in one.metadata or getattr(record, one.name) != one.default
    ]


def from_json(kind: type[Record], value: Any, place: str = "") -> Record:
    """Read a record of a dataclass from plain JSON values."""
    try:
        return _CONVERTER.structure(value, kind)
    except RecursionError:
        raise FormatError(f"{place}: nested too deeply".lstrip(".")) from None
    except Exception as error:  # errors of a type's reader, such as that of an enumeration
        raise _placed(error, place) from None


class _MisfitError(Exception):
    """An invalid value, with its path within the record."""

    def __init__(self, problem: str, place: str = "") -> None:
        super().__init__(problem)
        self.place = place


def _placed(error: Exception, place: str) -> Exception:
    """Find the first cause of an error and add its path; errors of the package are not changed."""
    while isinstance(error, ClassValidationError | IterableValidationError):
        named, others = error.group_exceptions()
        if named:
            error, note = named[0]
            if isinstance(note, IterableValidationNote):
                place += f"[{note.index}]" if isinstance(note.index, int) else f".{note.index}"
            else:
                place += f".{note.name}"
        else:
            error = others[0]
    if isinstance(error, OverreadError):
        return error
    return FormatError(f"{place}{getattr(error, 'place', '')}: {error}".lstrip("."))


def _refuse(value: Any, wanted: str) -> Any:
    raise _MisfitError(f"{repr(value)[:60]} is not {wanted}")


def _read_float(value: Any, _: Any) -> float:
    if value is None:
        return math.nan
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else _refuse(value, "of type float")


def _read_plain(value: Any, kind: Any) -> Any:
    if issubclass(kind, Enum):
        known = {member.value: member for member in kind}
        return known[value] if value in known else _refuse(value, f"one of {list(known)}")
    fits = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    return value if fits else _refuse(value, f"of type {kind.__name__}")


def _read_number_key(value: Any, _: Any) -> int:
    return int(value) if value.lstrip("-").isdecimal() else _refuse(value, "a whole number")


def _read_table(value: Any, _: Any) -> pd.DataFrame:
    if not isinstance(value, dict) or not all(isinstance(column, list) for column in value.values()):
        _refuse(value, "an object of columns")
    if len({len(column) for column in value.values()}) > 1:
        raise _MisfitError("its columns differ in length")
    return pd.DataFrame({name: _read_column(column) for name, column in value.items()})


def _read_column(values: list[Any]) -> pd.Series[Any]:
    """Make a column; if it contains only nulls, its numbers are missing."""
    if values and all(value is None for value in values):
        return pd.Series(np.full(len(values), np.nan))
    return pd.Series(values) if values else pd.Series(values, dtype="object")


for _kind, _reader in {
    float: _read_float,
    int: _read_plain,
    str: _read_plain,
    bool: _read_plain,
    Path: lambda value, _: Path(_read_plain(value, str)),
    _NumberKey: _read_number_key,
    pd.DataFrame: _read_table,
}.items():
    _CONVERTER.register_structure_hook(_kind, _reader)


def _has_origin(*origins: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) in origins


@_CONVERTER.register_structure_hook_factory(dataclasses.is_dataclass)
def _make_record_reader(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    read = make_dict_structure_fn(kind, converter)
    known = {one.name for one in dataclasses.fields(kind)}
    needed = {one.name for one in dataclasses.fields(kind) if "later" not in one.metadata}

    def read_record(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            _refuse(value, "an object")
        for name in sorted((needed - value.keys()) | (value.keys() - known)):
            raise _MisfitError("is missing" if name in known else "is not known", f".{name}")
        return read(value, kind)

    return read_record


@_CONVERTER.register_structure_hook_factory(_has_origin(Union, UnionType))
def _make_union_reader(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    kinds = [one for one in get_args(kind) if one is not NoneType]
    readers = [converter.get_structure_hook(one) for one in kinds]

    def read_union(value: Any, _: Any) -> Any:
        if value is None and len(kinds) < len(get_args(kind)):
            return None
        for one, read in zip(kinds[:-1], readers[:-1], strict=True):
            try:
                return read(value, one)
            except (_MisfitError, ClassValidationError, IterableValidationError):
                continue
        return readers[-1](value, kinds[-1])

    return read_union


@_CONVERTER.register_structure_hook_factory(_has_origin(Literal))
def _make_choice_reader(kind: Any, _: Converter) -> Callable[[Any, Any], Any]:
    choices = get_args(kind)
    fits = {(type(choice), choice) for choice in choices}
    return lambda value, _: value if (type(value), value) in fits else _refuse(value, f"one of {choices}")


@_CONVERTER.register_structure_hook_factory(_has_origin(np.ndarray))
def _make_array_reader(kind: Any, _: Converter) -> Callable[[Any, Any], Any]:
    dtype = np.dtype(get_args(get_args(kind)[1])[0])

    def read_array(value: Any, _: Any) -> Any:
        try:
            items = np.array(value, dtype=object)
            if isinstance(value, list) and {type(item) for item in items.flat} <= _ITEM_TYPES[dtype.kind]:
                return items.astype(dtype)
        except (ValueError, OverflowError):
            pass
        return _refuse(value, "a list of texts" if dtype.kind in "OU" else "a list of numbers")

    return read_array


@_CONVERTER.register_structure_hook_factory(_has_origin(list, tuple, Sequence))
def _make_sequence_reader(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    kinds = get_args(kind)
    is_tuple = get_origin(kind) is tuple
    if is_tuple and Ellipsis not in kinds:
        return _make_tuple_reader(kinds, converter)
    read = (homogenous_tuple_structure_factory if is_tuple else list_structure_factory)(kind, converter)
    return lambda value, _: read(value, kind) if isinstance(value, list) else _refuse(value, "a list")


def _make_tuple_reader(kinds: tuple[Any, ...], converter: Converter) -> Callable[[Any, Any], Any]:
    """Make the reader of tuples of a fixed length."""
    readers = [converter.get_structure_hook(one) for one in kinds]

    def read_tuple(value: Any, _: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(kinds):
            _refuse(value, f"a list of {len(kinds)}")
        items = []
        for number, (read, one, item) in enumerate(zip(readers, kinds, value, strict=True)):
            try:
                items.append(read(item, one))
            except Exception as error:
                error.add_note(IterableValidationNote("", number, one))
                raise IterableValidationError("an item does not fit", [error], tuple) from None
        return tuple(items)

    return read_tuple


@_CONVERTER.register_structure_hook_factory(_has_origin(dict, Mapping))
def _make_mapping_reader(kind: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    key_kind = get_args(kind)[0]
    read = mapping_structure_factory(kind, converter, key_type=_NumberKey if key_kind is int else key_kind)
    return lambda value, _: read(value) if isinstance(value, dict) else _refuse(value, "an object")
