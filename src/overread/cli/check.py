"""``overread check``: all problems in a study's tables, by file and row."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overread._commands import Flag, emit, make_table, print_plain
from overread._terminal import make_console
from overread._text import count
from overread.errors import LeakageError, TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overread.tables import Problem


SHOWN_PER_FILE = 500
COLOURS = {"error": "bold red", "leakage": "bold red", "warning": "yellow"}


def check(study: Path, *, derive_readings: Flag = False, skip_files: Flag = False, json: Flag = False) -> int:
    """List all problems in a study's marks, readings and images tables.

    Errors are listed row by row, warnings are counted by kind; --json has every row. Exit code 4 if there are
    errors, 7 if the only errors are patients or pixels in two splits, else 0.

    Parameters
    ----------
    study
        Folder with marks, readings and images tables, each .csv or .parquet.
    derive_readings
        Without a readings table, assume that each reader read only the images that they marked.
    skip_files
        Do not open image files or a table of features. By default `check` reads image sizes that the table
        lacks and looks for copies, views, one patient under two ids and text in images, as overread init
        does.
    json
        Print all problems as JSON.
    """
    from overread._terminal import ProgressBar
    from overread.marks import check_image_files, find_path, scan_folder
    from overread.study import (
        check_feature_rows,
        check_pictures,
        check_settings,
        check_units,
        list_changes,
        read_settings_if_sound,
    )

    scan = scan_folder(study, derive_readings=derive_readings)
    problems = list(scan.problems)
    if scan.images is not None and not skip_files:
        problems += check_image_files(scan.images, study, file=str(find_path(study, "images")))
        with nullcontext() if json else ProgressBar():
            problems += check_pictures(scan, study)
        problems += check_feature_rows(scan, study)
    settings = read_settings_if_sound(study)
    problems += [*check_settings(study), *check_units(scan, study, settings)]
    problems.sort(key=lambda problem: (problem.file, problem.row or 0))
    counts: Counter[str] = Counter(problem.severity for problem in problems)
    tables = {"marks": scan.marks, "readings": scan.readings, "images": scan.images}
    rows = {kind: 0 if table is None else len(table) for kind, table in tables.items()}
    found = [problem.as_dict() for problem in problems]
    changes = list_changes(settings.to_plain())
    preset = None if changes is None else {"name": settings.preset, "changes": changes}
    emit(
        {"rows": rows, "counts": counts, "problems": found, "preset": preset},
        lambda _: _show(problems, counts, rows, preset),
        as_json=json,
    )
    if counts["error"]:
        return TableError.exit_code
    return LeakageError.exit_code if counts["leakage"] else 0


def _show(
    problems: Sequence[Problem], counts: Counter[str], rows: dict[str, int], preset: dict[str, Any] | None
) -> None:
    """Print errors by row and warnings by kind, in one table per file, and a line with the totals."""
    from overread.report import describe_preset
    from overread.tables import one_per_kind

    for file, group in groupby(problems, key=lambda problem: problem.file):
        found = list(group)
        errors = [problem for problem in found if problem.severity != "warning"]
        remarks = one_per_kind(problem for problem in found if problem.severity == "warning")
        _show_file(file, [*errors, *remarks])
    total = ", ".join(f"{number:,} {kind}" for kind, number in rows.items())
    bad = counts["error"] + counts["leakage"]
    verdict = f"{count(bad, 'error')}, {count(counts['warning'], 'warning')}" if problems else "no problems"
    make_console().print(f"{verdict} in {total}")
    if preset is not None:
        print_plain(f"Preset: {describe_preset(**preset)}")


def _show_file(file: str, problems: list[Problem]) -> None:
    from rich.text import Text

    print_plain(file, style="bold")
    rows = (
        (
            Text(problem.severity, COLOURS[problem.severity]),
            "" if problem.row is None else problem.row,
            problem.column or "",
            problem.message,
            problem.remedy,
        )
        for problem in problems[:SHOWN_PER_FILE]
    )
    header = ("", "row", "column", "problem", "remedy")
    make_console().print(make_table(header, rows, right=slice(1, 2), show_edge=False, pad_edge=False))
    if len(problems) > SHOWN_PER_FILE:
        print_plain(f"... and {len(problems) - SHOWN_PER_FILE:,} more in this file; --json lists them all")
    print_plain("")
