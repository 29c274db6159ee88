"""Read spreadsheets as text: CSV with any separator and encoding of Excel, and XLSX.

Overread's tables are read by `overread.tables._cells`, which guesses nothing. Here the separator is the one that gives
every row as many cells as the header, and text that is not UTF-8 is read as Windows-1252, which Excel writes; the notes
report both.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from defusedxml.ElementTree import iterparse

from overread.errors import TableError
from overread.files import open_regular, read_capped
from overread.tables._cells import refuse_cut, refuse_empty

SHEET_ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".xlsm")
EXCEL_ENDINGS = (".xlsx", ".xlsm")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# As for other tools' files (marks.formats): far beyond any table of marks.
LARGEST_BYTES = 1 << 29
# Most rows of a sheet in Excel; most cells, which take about 500 MB. Gaps are filled with empty rows.
MOST_ROWS, MOST_CELLS = 1_048_576, 5_000_000
# The shared strings of a workbook are read at once: 12 s and 150 MB for a million short ones (measured).
STRINGS, MOST_STRING_BYTES = "sharedstrings.xml", 1 << 26
# Marks a cell whose formula has no stored value; no cell of a workbook can contain the first character.
NO_VALUE = "\0formula"
# Set by programs that write formulas without computing them; their stored values (0, or nothing) do not count.
NOT_COMPUTED = re.compile(rb"""fullCalcOnLoad\s*=\s*["'](?:1|true)["']""")


class NumberText(str):
    """Text of a cell that a workbook stores as a number: a point in it separates decimals."""

    __slots__ = ()


@dataclass(frozen=True)
class Sheet:
    """A table as text.

    Parameters
    ----------
    header : tuple of str
        Names of the columns, without spaces at their ends.
    rows : tuple of tuple of str
        Records without empty ones; all are as long as the header.
    numbers : tuple of int
        Row of each record in the spreadsheet; the first row is 1.
    notes : tuple of str
        Notes on the interpretation of the file.
    source : str
        The file, for messages.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...]
    notes: tuple[str, ...] = ()
    source: str = "the table"

    def column(self, name: str) -> list[str]:
        """Cells of one column; a formula without a stored value is a `TableError`."""
        place = self.header.index(name)
        cells = [row[place] for row in self.rows]
        if NO_VALUE in cells:
            row, n = self.numbers[cells.index(NO_VALUE)], cells.count(NO_VALUE)
            raise TableError(
                f"{self.source}, row {row}, column {name}: the formula has no stored value"
                f"{f' ({n} such cells in this column)' if n > 1 else ''} (open the file in a spreadsheet program and "
                "save it, or write numbers instead)"
            )
        return cells


def read_sheet(path: Path, sheet: str | None = None) -> Sheet:
    """Read a spreadsheet."""
    ending = path.suffix.lower()
    if ending in EXCEL_ENDINGS:
        return _table_of(*_excel_rows(path, sheet), path)
    if ending in (".xls", ".ods"):
        raise TableError(f"{path}: {ending} files are not read (save it as .xlsx or as CSV)")
    if sheet is not None:
        raise TableError(f"{path}: only .xlsx files have sheets (remove --sheet)")
    return _table_of(*_text_rows(path), path)


def _table_of(rows: Iterable[Sequence[str]], notes: Sequence[str], path: Path) -> Sheet:
    """Table of rows: the first that is not empty is the header; empty rows and columns at the end are dropped."""
    kept = [
        (number, [cell if isinstance(cell, NumberText) else cell.strip() for cell in row])
        for number, row in enumerate(rows, start=1)
        if any(cell.strip() for cell in row)
    ]
    if not kept:
        raise TableError(f"{path}: the table is empty (write at least the header)")
    (first, header), records = kept[0], kept[1:]
    while header and not header[-1]:
        header.pop()
    if NO_VALUE in header:
        raise TableError(
            f"{path}, row {first}: the name of column {header.index(NO_VALUE) + 1} is a formula without a stored value "
            "(write the name as text)"
        )
    repeated = sorted({name for name in header if name and header.count(name) > 1})
    if repeated:
        raise TableError(f"{path}, row {first}: the column {repeated[0]!r} occurs twice (rename one)")
    width = len(header)
    for number, record in records:
        if any(record[width:]):
            raise TableError(f"{path}, row {number}: {len(record)} cells where the header has {width}")
    return Sheet(
        tuple(header),
        tuple(tuple(record[:width] + [""] * (width - len(record))) for _, record in records),
        tuple(number for number, _ in records),
        tuple(notes),
        str(path),
    )


def _text_rows(path: Path) -> tuple[list[list[str]], list[str]]:
    """Rows of a text file, and notes on its separator and encoding."""
    text, notes = decode(path)
    best: list[list[str]] = []
    widest = 1
    for separator, name in SEPARATORS.items():
        rows = _split_text(text, separator)
        widths = {len(row) for row in rows if row}
        if len(widths) == 1 and (width := widths.pop()) > widest:
            best, said, widest = rows, name, width
    if not best:
        lengths = {name: [len(row) for row in _split_text(text, mark)] for mark, name in SEPARATORS.items()}
        raise TableError(f"{path}: {_uneven_text(lengths)}")
    return best, [*notes, *([f"separated by {said}"] if said != "commas" else [])]


def _uneven_text(widths: dict[str, list[int]]) -> str:
    """Explain why no separator makes a table, by the first uneven row under the best separator."""
    name = max(widths, key=lambda key: widths[key][0] if widths[key] else 0)
    numbers = widths[name]
    if not numbers or numbers[0] < 2:
        return "one column; a table of marks has at least an image, a reader, x and y"
    row = next((place for place, n in enumerate(numbers, start=1) if n not in (0, numbers[0])), 1)
    return (
        f"row {row} has {numbers[row - 1]} cells where the header has {numbers[0]} separated by {name} "
        "(is the file truncated, or does a cell need quotes?)"
    )


def _split_text(text: str, separator: str) -> list[list[str]]:
    """Cells with one separator; empty if quotes are broken."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        return []


def decode(path: Path) -> tuple[str, list[str]]:
    """Text of a file, and a note if it is not UTF-8."""
    try:
        raw = read_capped(
            path, LARGEST_BYTES, lambda _: TableError(f"{path}: more than {LARGEST_BYTES >> 20} MB")
        )
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}") from error
    refuse_empty(raw, path)
    text, notes = _decode_bytes(raw, path)
    refuse_cut(text, path)
    return text, notes


def _decode_bytes(raw: bytes, path: Path) -> tuple[str, list[str]]:
    """Decode UTF-8, UTF-16 with its mark, or else Windows-1252."""
    try:
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            return raw.decode("utf-16"), ["UTF-16 text"]
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise TableError(f"{path}: damaged UTF-16 text (save it as CSV UTF-8)") from error
    try:
        return raw.decode("cp1252"), ["not UTF-8, read as Windows-1252 text"]
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{path}, row {row}: neither UTF-8 nor Windows-1252 text (save it as CSV UTF-8)"
        ) from error


def _excel_rows(path: Path, sheet: str | None) -> tuple[list[list[str]], list[str]]:
    """Rows of a workbook's sheet, and a note with its name."""
    import openpyxl

    computed = _check_archive(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            tables = {
                one.title: _with_formulas(_bounded_rows(one, path), one, path, computed=computed)
                for one in book.worksheets
                if one.sheet_state == "visible"
            }
        finally:
            book.close()
    except TableError:
        raise
    except Exception as error:  # whatever a damaged archive makes zip, XML and openpyxl raise
        raise TableError(
            f"{path}: cannot be read as .xlsx: {type(error).__name__} (save it again, or as CSV)"
        ) from error
    filled = [name for name, rows in tables.items() if any(any(row) for row in rows)]
    if sheet is None and len(filled) > 1:
        raise TableError(
            f"{path}: several sheets have content: {', '.join(filled)} (choose one with --sheet)"
        )
    name = sheet if sheet is not None else next(iter(filled), "")
    if name not in tables:
        raise TableError(
            f"{path}: no sheet {name!r}; there are {', '.join(tables)}" if name else f"{path}: is empty"
        )
    return tables[name], [f"sheet {name!r}"] if len(tables) > 1 else []


def _bounded_rows(sheet: Any, path: Path) -> list[list[str]]:
    """Read the stored rows of a sheet, whatever number it states; a sheet larger than any table is refused."""
    sheet.reset_dimensions()
    rows: list[list[str]] = []
    n_cells = 0
    for row in sheet.iter_rows(values_only=True):
        n_cells += len(row)
        if len(rows) >= MOST_ROWS or n_cells > MOST_CELLS:
            raise TableError(
                f"{path}, sheet {sheet.title!r}: more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, with empty ones "
                "between them (save only the filled part, or save it as CSV)"
            )
        rows.append([_cell_text(value) for value in row])
    return rows


def _with_formulas(rows: list[list[str]], sheet: Any, path: Path, *, computed: bool) -> list[list[str]]:
    """Put `NO_VALUE` where a formula has no stored value, and refuse a repeated row or cell.

    openpyxl returns nothing for such a formula, and drops rows that are out of order.
    """
    from openpyxl.utils import coordinate_to_tuple

    place = f"{path}, sheet {sheet.title!r}"
    row = column = 0
    with sheet._get_source() as source:  # openpyxl has no public way to the XML of a sheet
        for event, element in iterparse(source, events=("start", "end"), forbid_dtd=True):
            tag = element.tag.rpartition("}")[2]
            if event == "start" and tag == "row":
                number, column = int(element.get("r") or row + 1), 0
                if number <= row:
                    raise TableError(
                        f"{place}: row {number} comes after row {row} (save it again, or as CSV)"
                    )
                row = number
            elif event == "start" and tag == "c":
                place_of_cell = element.get("r")
                number = coordinate_to_tuple(place_of_cell)[1] if place_of_cell else column + 1
                if number <= column:
                    raise TableError(f"{place}: cell {place_of_cell} is there twice or out of order")
                column = number
            elif event == "end" and tag == "c":
                if _lacks_value(element, computed=computed):
                    cells = rows[row - 1]
                    cells += [""] * (column - len(cells))
                    cells[column - 1] = NO_VALUE
            elif event == "end" and tag == "row":
                element.clear()
    return rows


def _lacks_value(cell: Any, *, computed: bool) -> bool:
    """Whether a cell of the XML has a formula and no stored value."""
    parts = {child.tag.rpartition("}")[2]: child.text or "" for child in cell}
    # A formula with an empty text as its value has the type str and was computed.
    known = parts.get("v") or ("v" in parts and cell.get("t") == "str")
    return "f" in parts and not (computed and known)


def _check_archive(path: Path) -> bool:
    """Refuse an invalid or too large workbook; return whether its formulas have been computed."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > LARGEST_BYTES:
                raise TableError(f"{path}: unpacks to more than {LARGEST_BYTES >> 20} MB")
            books = [entry for entry in entries if entry.filename.lower().endswith("/workbook.xml")]
            computed = not any(NOT_COMPUTED.search(archive.read(entry)) for entry in books)
    except TableError:
        raise
    except Exception as error:  # whatever a damaged archive makes zipfile and zlib raise
        raise TableError(f"{path}: cannot be read as .xlsx: {error}") from error
    strings = [entry.file_size for entry in entries if entry.filename.lower().endswith(STRINGS)]
    if sum(strings) > MOST_STRING_BYTES:
        raise TableError(f"{path}: more than {MOST_STRING_BYTES >> 20} MB of text in cells (save it as CSV)")
    return computed


def _cell_text(value: Any) -> str:
    """Cell of a workbook as text; a whole number has no point, for any stored type."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return NumberText(value) if isinstance(value, float) else str(value)
