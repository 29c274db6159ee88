"""``overread check``: all that is wrong with a study's tables, by file and row."""

from __future__ import annotations

import json as json_text
from collections import Counter
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread._commands import fold_cells
from overread._terminal import make_console, print_json
from overread.errors import LeakageError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from overread.tables import Problem


SHOWN_PER_FILE = 500
COLOURS = {"error": "bold red", "leakage": "bold red", "warning": "yellow"}


def check(
    study: Path,
    *,
    derive_readings: Annotated[bool, Parameter(negative="")] = False,
    skip_files: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """List every problem of a study's marks, readings and images tables at once.

    Errors are listed row by row, warnings kind by kind with their number; --json has every row.
    Exit code 4 if there are errors, 7 if the only errors are patients or pixels in two splits, else 0.

    Parameters
    ----------
    study
        Folder with marks, readings and images tables, each .csv or .parquet.
    derive_readings
        Without a readings table, take each reader to have read just what he marked.
    skip_files
        Do not open the image files, nor a table of features. Without it, copies, views, one patient under two ids and
        text in pictures are looked for as overread init does, and sizes that the table lacks are read.
    json
        Print all problems for machines.
    """
    from overread._terminal import ProgressBar
    from overread.marks import check_image_files, find_path, scan_folder
    from overread.study import check_feature_rows, check_pictures, check_units, read_settings_if_sound

    scan = scan_folder(study, derive_readings=derive_readings)
    problems = list(scan.problems)
    if scan.images is not None and not skip_files:
        problems += check_image_files(scan.images, study, file=str(find_path(study, "images")))
        with nullcontext() if json else ProgressBar():
            problems += check_pictures(scan, study)
        problems += check_feature_rows(scan, study)
    problems += check_units(scan, study, read_settings_if_sound(study))
    problems.sort(key=lambda problem: (problem.file, problem.row or 0))
    counts: Counter[str] = Counter(problem.severity for problem in problems)
    tables = {"marks": scan.marks, "readings": scan.readings, "images": scan.images}
    rows = {kind: 0 if table is None else len(table) for kind, table in tables.items()}
    if json:
        found = [problem.as_dict() for problem in problems]
        print_json(json_text.dumps({"rows": rows, "counts": counts, "problems": found}))
    else:
        show(problems, counts, rows)
    if counts["error"]:
        return TableError.exit_code
    return LeakageError.exit_code if counts["leakage"] else 0


def show(problems: Sequence[Problem], counts: Counter[str], rows: dict[str, int]) -> None:
    """Print the errors row by row and the warnings kind by kind, a table for each file, and a line with their sum."""
    from overread.tables import one_per_kind

    console = make_console()
    for file, group in groupby(problems, key=lambda problem: problem.file):
        found = list(group)
        errors = [problem for problem in found if problem.severity != "warning"]
        remarks = one_per_kind(problem for problem in found if problem.severity == "warning")
        _show_file(console, file, [*errors, *remarks])
    total = ", ".join(f"{number:,} {kind}" for kind, number in rows.items())
    bad = counts["error"] + counts["leakage"]
    verdict = (
        f"{_plural(bad, 'error')}, {_plural(counts['warning'], 'warning')}" if problems else "no problems"
    )
    console.print(f"{verdict} in {total}")


def _show_file(console: Console, file: str, problems: list[Problem]) -> None:
    """Print the problems of one file."""
    from rich.markup import escape
    from rich.table import Table

    console.print(file, style="bold", soft_wrap=True, markup=False)
    table = Table("", "row", "column", "problem", "remedy", show_edge=False, pad_edge=False)
    table.columns[1].justify = "right"
    for problem in problems[:SHOWN_PER_FILE]:
        kind = f"[{COLOURS[problem.severity]}]{problem.severity}[/]"
        row = "" if problem.row is None else str(problem.row)
        table.add_row(kind, row, *map(escape, (problem.column or "", problem.message, problem.remedy)))
    console.print(fold_cells(table))
    if len(problems) > SHOWN_PER_FILE:
        console.print(f"... and {len(problems) - SHOWN_PER_FILE:,} more in this file; --json lists them all")
    console.print()


def _plural(number: int, word: str) -> str:
    """Write a number with its word."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
