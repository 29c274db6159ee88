"""Images that were left out of a study, kept in a table so that imports and reports can say so.

``left_out.csv`` has a row for each file that was found and is not in the study: its path in the folder, the step that
left it out, and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from overread.tables.problems import raise_for_errors
from overread.tables.schemas import Column, Schema
from overread.tables.table_files import scan_csv, write_table

__all__ = ["LEFT_OUT_FILE", "read_left_out", "write_left_out"]

LEFT_OUT_FILE = "left_out.csv"
LEFT_OUT = Schema(
    "left-out images", (Column("path", "id"), Column("step", "text"), Column("reason", "text")), key=("path",)
)


def read_left_out(folder: Path) -> dict[str, str]:
    """Reason by path of the images that were left out; none where there is no such table."""
    path = folder / LEFT_OUT_FILE
    if not path.is_file():
        return {}
    scan = scan_csv(path, LEFT_OUT)
    raise_for_errors(scan.problems)
    return dict(zip(scan.frame["path"], scan.frame["reason"], strict=True))


def write_left_out(folder: Path, reasons: Mapping[str, str], step: str) -> Path:
    """Write the table; one without rows too, which says that nothing was left out."""
    table = pd.DataFrame(
        {"path": list(reasons), "step": [step] * len(reasons), "reason": list(reasons.values())}, dtype="str"
    )
    return write_table(table.sort_values("path", ignore_index=True), folder / LEFT_OUT_FILE)
