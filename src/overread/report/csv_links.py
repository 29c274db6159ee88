"""Every table of the page as a CSV file that is part of the page: a link that works without a network.

What is shown is what is saved. Raw numbers are in ``results.json``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from urllib.parse import quote

from markupsafe import Markup

from overread.tables.csv_cells import csv_text, guard_formula

__all__ = ["link_csv", "read_cells_of_table"]

# Spreadsheets take a file without it for one of their own code page.
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


class _TableReader(HTMLParser):
    """Collects the cells of the rows of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data


def read_cells_of_table(html: str) -> list[list[str]]:
    """Return the texts of the cells of a table, row by row."""
    reader = _TableReader()
    # Plain text: markup would escape what is added to it.
    reader.feed(str(html))
    return [[" ".join(cell.split()) for cell in row] for row in reader.rows]


def link_csv(rows: Iterable[Sequence[str]], name: str) -> Markup:
    """Make a link that saves rows as ``name.csv``."""
    text = BYTE_ORDER_MARK + csv_text([[_guard(cell) for cell in row] for row in rows])
    address = f"data:text/csv;charset=utf-8,{quote(text)}"
    return Markup('<a class="csv" download="{}.csv" href="{}">CSV</a>').format(name, address)


def _guard(cell: str) -> str:
    """Keep a spreadsheet from running a cell as a formula; numbers stay numbers."""
    try:
        float(cell)
    except ValueError:
        return guard_formula(cell)
    return cell
