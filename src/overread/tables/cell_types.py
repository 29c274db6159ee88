"""What a cell of each type may hold, and how it is read from text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from overread.tables.csv_cells import unguard_formula
from overread.tables.schemas import Type

__all__ = [
    "DESCRIPTIONS",
    "REMEDIES",
    "UNREADABLE",
    "as_series",
    "parse_column",
    "parse_number",
    "quote_cell",
]

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
FLAGS = {"true": True, "false": False, "1": True, "0": False}
UNREADABLE = {"number": math.nan, "count": 0, "flag": False, "ids": ()}
"""What stands in a column, by its type, for a cell that cannot be read."""


def parse_column(cells: Sequence[str], type_: Type) -> tuple[list[Any], list[int]]:
    """Values of cells, and the places of those that are not of the type."""
    if type_ in ("id", "text", "any"):
        texts = [unguard_formula(cell) for cell in cells]
        return texts, [place for place, text in enumerate(texts) if type_ == "id" and not text]
    values: list[Any] = []
    bad: list[int] = []
    parse = PARSERS[type_]
    for place, cell in enumerate(cells):
        try:
            values.append(parse(cell))
        except (ValueError, RecursionError):
            values.append(UNREADABLE[type_])
            bad.append(place)
    return values, bad


def parse_number(cell: str) -> float:
    """Floating-point number; an empty cell is NaN; 1e999, which no float64 holds, is refused."""
    text = cell.strip(" ")
    if NUMBER.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
    elif not text:
        return math.nan
    elif text.lower() in NOT_FINITE:
        return NOT_FINITE[text.lower()]
    raise ValueError(cell)


def parse_count(cell: str) -> int:
    """Whole number."""
    if not WHOLE.fullmatch(cell.strip(" ")):
        raise ValueError(cell)
    return int(cell)


def parse_flag(cell: str) -> bool:
    """Read true or false, in words or as 1 and 0."""
    try:
        return FLAGS[cell.strip(" ").lower()]
    except KeyError:
        raise ValueError(cell) from None


def parse_ids(cell: str) -> tuple[str, ...]:
    """List of ids, as JSON."""
    value = json.loads(cell)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(cell)
    return tuple(value)


PARSERS: dict[str, Callable[[str], Any]] = {
    "number": parse_number,
    "count": parse_count,
    "flag": parse_flag,
    "ids": parse_ids,
}
DESCRIPTIONS = {
    "id": "an id",
    "number": "a number",
    "count": "a whole number",
    "flag": "true or false",
    "ids": "a JSON list of ids",
    "text": "text",
    "any": "anything",
}
"""What a cell of each type is, in messages."""
REMEDIES = {
    "id": "give every row an id",
    "number": "write 0.143, with a point, without a unit",
    "count": "write a whole number",
    "flag": "write true or false",
    "ids": 'write ["a", "b"]',
    "text": "write text",
    "any": "write text",
}
"""What to write instead, in messages."""
DTYPES = {
    "id": "str",
    "text": "str",
    "any": "str",
    "number": "float64",
    "count": "int64",
    "flag": "bool",
    "ids": "object",
}


def as_series(values: Sequence[Any], type_: Type) -> pd.Series[Any]:
    """Series of the type's dtype."""
    return pd.Series(values, dtype=DTYPES[type_])


def quote_cell(cell: str) -> str:
    """Cell as it is named in a message: quoted, and not longer than a line."""
    return repr(cell) if len(cell) <= 40 else f"{cell[:30]!r}... ({len(cell)} characters)"
