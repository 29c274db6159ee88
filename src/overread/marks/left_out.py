"""Image files that were found for a study, and why some of them are not in it, so that imports and reports can say so.

``found_files.csv`` has a row for each file: its path in the folder, and for one that is not in the study the step that
left it out and the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from overread.tables.problems import raise_for_errors
from overread.tables.schemas import Column, Schema
from overread.tables.table_files import scan_file

__all__ = ["FOUND", "FOUND_FILE", "list_found_files", "read_found", "read_left_out"]

FOUND_FILE = "found_files.csv"
FOUND = Schema(
    "found files",
    (
        Column("path", "id", meaning="A file that was found, relative to the study's folder."),
        Column("step", "text", meaning="Where it was left out; empty for one that is in the study."),
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


def list_found_files(taken: Iterable[str], left_out: Mapping[str, str], step: str = "init") -> pd.DataFrame:
    """List the files that are in the images table, and those that are not with step and reason."""
    reasons = dict.fromkeys(taken, "") | dict(left_out)
    paths = sorted(reasons)
    return pd.DataFrame(
        {
            "path": paths,
            "step": [step if reasons[path] else "" for path in paths],
            "reason": [reasons[path] for path in paths],
        },
        dtype="str",
    )
