"""Image files that were found for a study, and why some of them are not in it, so that imports and reports can say so.

``found_files.csv`` has a row for each file: its path in the folder, and for one that is not in the study the step that
left it out and the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from overread.marks.file_names import ids_of_files
from overread.tables.problems import raise_for_errors
from overread.tables.schemas import Column, Schema
from overread.tables.table_files import scan_file

__all__ = [
    "FOUND",
    "FOUND_FILE",
    "UNLISTED",
    "ids_of_dropped",
    "list_found_files",
    "read_dropped",
    "read_found",
    "read_left_out",
]

FOUND_FILE = "found_files.csv"
DROPPED = "drop"
UNLISTED = "the images table that was there does not list it"
"""Reason of a file that is not in the study since the images table has no row for it."""
# Version 0.2.0 wrote the step init for what the user left out, too; these are its reasons.
OLD_DROPS = (
    "the same pixels as",
    "one patient under",
    "a lateral view by",
    "an AP view by",
    "no chest radiograph by",
    "no two lungs side by side",
    "text burned into",
    "nobody read it",
    "taken out by hand",
    "no readable image file",
)
FOUND = Schema(
    "found files",
    (
        Column("path", "id", meaning="A file that was found, relative to the study's folder."),
        Column(
            "step",
            "text",
            meaning="init: it could not be used; table: the images table does not list it; drop: you left it out; "
            "empty for one that is in the study.",
        ),
        Column("reason", "text", meaning="Why."),
    ),
    key=("path",),
)


def read_found(folder: Path) -> dict[str, str] | None:
    """Reason by path, empty for a file that is in the study; None where there is no such table."""
    path = folder / FOUND_FILE
    if not path.is_file():
        return None
    scan = scan_file(path, FOUND)
    raise_for_errors(scan.problems)
    return dict(zip(scan.frame["path"], scan.frame["reason"], strict=True))


def read_left_out(folder: Path) -> dict[str, str]:
    """Reason by path of the images that were left out."""
    return {path: reason for path, reason in (read_found(folder) or {}).items() if reason}


def read_dropped(folder: Path) -> dict[str, str]:
    """Reason by path of the images that the user left out."""
    path = folder / FOUND_FILE
    if not path.is_file():
        return {}
    table = scan_file(path, FOUND).frame
    dropped = table[(table["step"] == DROPPED) | table["reason"].str.startswith(OLD_DROPS)]
    return dict(zip(dropped["path"], dropped["reason"], strict=True))


def ids_of_dropped(folder: Path) -> set[str]:
    """Ids that the images that the user left out had by the names of their files."""
    dropped = read_dropped(folder)
    paths = list(read_found(folder) or {})
    return {name for path, name in zip(paths, ids_of_files(paths), strict=True) if path in dropped}


def list_found_files(
    taken: Iterable[str], left_out: Mapping[str, str], dropped: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """List the files that are in the images table, those that could not be used, and those that the user left out."""
    reasons = dict.fromkeys(taken, ("", ""))
    reasons |= {
        path: ("table" if reason == UNLISTED else "init", reason) for path, reason in left_out.items()
    }
    reasons |= {path: (DROPPED, reason) for path, reason in (dropped or {}).items()}
    rows = [(path, *reasons[path]) for path in sorted(reasons)]
    return pd.DataFrame(rows, columns=["path", "step", "reason"], dtype="str")
