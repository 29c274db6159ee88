r"""CSV as exact text: nothing is guessed, nothing is changed.

Cells come back as the strings that the file holds. A spreadsheet runs a cell that begins with ``=``, ``+``,
``-``, ``@``, a tab or a carriage return as a formula. So text cells written here that begin so, after any
number of apostrophes, get one apostrophe more in front, and reading takes one away: ``=1+1`` is written
``'=1+1`` and read back as ``=1+1``. Numbers are left alone.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from overread.errors import TableError
from overread.files.regular import read_regular

__all__ = [
    "Cells",
    "csv_text",
    "decode_csv",
    "guard_formula",
    "parse_cells",
    "read_cells",
    "read_table_bytes",
    "unguard_formula",
]

FORMULA = re.compile(r"'*[=+\-@\t\r]")
GUARDED = re.compile(r"'+[=+\-@\t\r]")
NEEDS_QUOTES = re.compile(r'[,"\r\n]|^\s|\s$')


@dataclass(frozen=True)
class Cells:
    """A CSV file as text.

    Parameters
    ----------
    header : list of str
        Column names.
    rows : list of list of str
        Records; all are as long as the header. Record i is row i + 2 of the file.
    """

    header: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """Cells of one column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def guard_formula(text: str) -> str:
    """Text that no spreadsheet takes for a formula; see `unguard_formula`."""
    return "'" + text if FORMULA.match(text) else text


def unguard_formula(cell: str) -> str:
    """Undo `guard_formula`."""
    return cell[1:] if GUARDED.match(cell) else cell


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV (RFC 4180, lines end in a line feed)."""
    return "".join(",".join(map(quote_if_needed, row)) + "\n" for row in rows)


def quote_if_needed(cell: str) -> str:
    """Cell in quotes where it needs them."""
    return '"' + cell.replace('"', '""') + '"' if NEEDS_QUOTES.search(cell) else cell


def read_cells(path: Path) -> Cells:
    """Read a CSV file as text.

    Raises
    ------
    TableError
        If the file is missing, empty, not UTF-8, not CSV, or was cut: a last line without its line end is
        refused, because a number cut in the middle is still a number.
    """
    return parse_cells(decode_csv(read_table_bytes(path), path), path)


def read_table_bytes(path: Path) -> bytes:
    """Bytes of a table's file; a `TableError` where it cannot be read."""
    try:
        return read_regular(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error


def decode_csv(raw: bytes, path: Path) -> str:
    """Text of the file, or an error that names the encoding's fault."""
    if not raw.strip():
        raise TableError(f"{path}: the file is empty (write at least the header)")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{path}: the file is UTF-16 (save it as CSV UTF-8)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise TableError(f"{path}, row {row}: not UTF-8 text (save it as CSV UTF-8)") from error


def parse_cells(text: str, path: Path) -> Cells:
    """Split CSV text into cells; all rows must be as long as the header."""
    if not text.endswith(("\n", "\r")):
        last = text.count("\n") + 1
        raise TableError(
            f"{path}, row {last}: the last line has no line end, so the file may have been cut "
            "(fetch it again, or add the line end if it is whole)"
        )
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise TableError(
            f"{path}: not CSV: {error} (cut in mid-line, or a quote that is not closed?)"
        ) from error
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise TableError(f"{path}: the file is empty (write at least the header)")
    header, records = rows[0], rows[1:]
    for number, record in enumerate(records, start=2):
        if len(record) != len(header):
            raise TableError(
                f"{path}, row {number}: {len(record)} cells where the header has {len(header)} "
                "(cut in mid-line, or a comma that needs quotes?)"
            )
    return Cells(header, records)
