"""The types of cells, and how each is read from text.

CSV is read as exact text: nothing is guessed or changed.

Cells are returned as the strings in the file. A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@``, a
tab or a carriage return as a formula. So text cells that begin like this, after any number of apostrophes, are written
with one more apostrophe in front, and reading removes one: ``=1+1`` is written ``'=1+1`` and read back as ``=1+1``.
Numbers are not changed.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from overread.errors import TableError
from overread.files import read_regular
from overread.tables._schemas import Type

FORMULA = re.compile(r"'*[=+\-@\t\r]")
GUARDED = re.compile(r"'+[=+\-@\t\r]")
NEEDS_QUOTES = re.compile(r'[,"\r\n]|^\s|\s$')


@dataclass(frozen=True)
class Cells:
    """A CSV file as text: a header and records of the same length; record i is row i + 2 of the file."""

    header: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """Cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def guard_formula(text: str) -> str:
    """Text that no spreadsheet runs as a formula; see `unguard_formula`."""
    return "'" + text if FORMULA.match(text) else text


def unguard_formula(cell: str) -> str:
    """Undo `guard_formula`."""
    return cell[1:] if GUARDED.match(cell) else cell


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV (RFC 4180, lines end in a line feed)."""
    return "".join(",".join(map(_quote_if_needed, row)) + "\n" for row in rows)


def _quote_if_needed(cell: str) -> str:
    """Cell in quotes where it needs them."""
    return '"' + cell.replace('"', '""') + '"' if NEEDS_QUOTES.search(cell) else cell


def read_cells(path: Path) -> Cells:
    """Read a CSV file as text.

    Raises
    ------
    TableError
        If the file is missing, empty, not UTF-8, not CSV, or truncated: a last line without a line end is refused,
        because a truncated number is still a number.
    """
    return parse_cells(decode_csv(read_table_bytes(path), path), path)


def read_table_bytes(path: Path) -> bytes:
    """Bytes of a table's file; a `TableError` if it cannot be read."""
    try:
        return read_regular(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error


def decode_csv(raw: bytes, path: Path) -> str:
    """Text of the file, or an error about its encoding."""
    refuse_empty(raw, path)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{path}: the file is UTF-16 (save it as CSV UTF-8)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise TableError(f"{path}, row {row}: not UTF-8 text (save it as CSV UTF-8)") from error


def refuse_empty(content: Sized, path: Path) -> None:
    """Refuse a file without text, or a table without rows."""
    if not (content.strip() if isinstance(content, bytes) else content):
        raise TableError(f"{path}: the file is empty (write at least the header)")


def refuse_cut(text: str, path: Path) -> None:
    """Refuse text whose last line has no end: a truncated number is still a number."""
    if not text.endswith(("\n", "\r")):
        row = text.count("\n") + 1
        raise TableError(
            f"{path}, row {row}: the last line has no line end, so the file may be truncated "
            "(copy it again, or add the line end if it is complete)"
        )


def parse_cells(text: str, path: Path) -> Cells:
    """Split CSV text into cells; all rows must be as long as the header."""
    refuse_cut(text, path)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise TableError(
            f"{path}: not CSV: {error} (is the file truncated, or a quote not closed?)"
        ) from error
    while rows and not rows[-1]:
        rows.pop()
    refuse_empty(rows, path)
    header, records = rows[0], rows[1:]
    for number, record in enumerate(records, start=2):
        if len(record) != len(header):
            raise TableError(
                f"{path}, row {number}: {len(record)} cells where the header has {len(header)} "
                "(is the file truncated, or does a comma need quotes?)"
            )
    return Cells(header, records)


NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
FLAGS = {"true": True, "false": False, "1": True, "0": False}


def parse_column(cells: Sequence[str], type_: Type) -> tuple[list[Any], list[int]]:
    """Values of cells, and the positions of those of another type."""
    kind = CELL_TYPES[type_]
    values: list[Any] = []
    bad: list[int] = []
    for place, cell in enumerate(cells):
        try:
            values.append(kind.parse(cell))
        except (ValueError, RecursionError):
            values.append(kind.unreadable)
            bad.append(place)
    return values, bad


def _parse_id(cell: str) -> str:
    """Text that is not empty."""
    if not (text := unguard_formula(cell)):
        raise ValueError(cell)
    return text


def parse_number(cell: str) -> float:
    """Floating-point number; an empty cell is NaN; numbers beyond float64, such as 1e999, are refused."""
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


def _parse_count(cell: str) -> int:
    """Whole number."""
    if not WHOLE.fullmatch(cell.strip(" ")):
        raise ValueError(cell)
    return int(cell)


def _parse_flag(cell: str) -> bool:
    """Read true or false, in words or as 1 and 0."""
    try:
        return FLAGS[cell.strip(" ").lower()]
    except KeyError:
        raise ValueError(cell) from None


def _parse_ids(cell: str) -> tuple[str, ...]:
    """List of ids, as JSON."""
    value = json.loads(cell)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(cell)
    return tuple(value)


class CellType(NamedTuple):
    """Description and remedy for messages; type, value of a bad cell, and parser."""

    description: str
    remedy: str
    dtype: str
    unreadable: Any
    parse: Callable[[str], Any]


CELL_TYPES: dict[str, CellType] = {
    "id": CellType("an id", "give every row an id", "str", "", _parse_id),
    "text": CellType("text", "write text", "str", "", unguard_formula),
    "any": CellType("anything", "write text", "str", "", unguard_formula),
    "number": CellType(
        "a number", "write 0.143, with a point, without a unit", "float64", math.nan, parse_number
    ),
    "count": CellType("a whole number", "write a whole number", "int64", 0, _parse_count),
    "flag": CellType("true or false", "write true or false", "bool", False, _parse_flag),
    "ids": CellType("a JSON list of ids", 'write ["a", "b"]', "object", (), _parse_ids),
}


def as_series(values: Sequence[Any], type_: Type) -> pd.Series[Any]:
    """Series of the type's dtype."""
    return pd.Series(values, dtype=CELL_TYPES[type_].dtype)


def quote_cell(cell: str) -> str:
    """Cell for a message: quoted, and at most one line long."""
    return repr(cell) if len(cell) <= 40 else f"{cell[:30]!r}... ({len(cell)} characters)"
