"""What `overread init` found: every image file of the folder, and why some of them are not in the study.

The table stays in the study's folder, so that a report can say what was left out before the first run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from overread.report.description import FoundFiles
from overread.tables.problems import raise_for_errors
from overread.tables.schemas import Column, Schema
from overread.tables.table_files import scan_csv, write_table

__all__ = ["FOUND_FILE", "read_found_files", "write_found_files"]

FOUND_FILE = "found_files.csv"
FOUND = Schema("found files", (Column("path", "id"), Column("left_out", "text")), key=("path",))


def write_found_files(folder: Path, taken: Iterable[str], left_out: Mapping[str, str]) -> Path:
    """Write the files that are in the images table, and those that are not with the reason."""
    reasons = dict.fromkeys(taken, "") | dict(left_out)
    paths = sorted(reasons)
    table = pd.DataFrame({"path": paths, "left_out": [reasons[path] for path in paths]}, dtype="str")
    return write_table(table, folder / FOUND_FILE)


def read_found_files(folder: Path, listed: Iterable[str]) -> FoundFiles | None:
    """Count what was found; None in a folder that `init` has not been in.

    Parameters
    ----------
    folder
        Of the study.
    listed
        Paths that the images table has now; a file that was left out and is listed since is no longer left out.
    """
    path = folder / FOUND_FILE
    if not path.is_file():
        return None
    scan = scan_csv(path, FOUND)
    raise_for_errors(scan.problems)
    reasons = dict(zip(scan.frame["path"], scan.frame["left_out"], strict=True))
    now = set(listed)
    left_out = Counter(reason for name, reason in reasons.items() if reason and name not in now)
    return FoundFiles(
        n_found=len(reasons),
        left_out=dict(sorted(left_out.items(), key=lambda item: (-item[1], item[0]))),
        n_taken_out=sum(not reason and name not in now for name, reason in reasons.items()),
        n_added=len(now - reasons.keys()),
    )
