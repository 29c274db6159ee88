"""Checks of the image files that an images table points to, by their bytes alone: no image is decoded."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pandas as pd

from overread.tables.cell_types import quote_cell
from overread.tables.problems import Problem

__all__ = ["check_image_files"]


def check_image_files(images: pd.DataFrame, folder: Path, *, file: str = "images") -> list[Problem]:
    """Find paths without a file, and files that hold the same bytes under two image ids.

    Parameters
    ----------
    images : pandas.DataFrame
        An images table; rows without a path are passed over.
    folder : Path
        Folder that the paths are relative to.
    file : str
        Name of the table in messages.

    Returns
    -------
    list of Problem
        The same bytes in two splits are leakage, else a warning.
    """
    if "path" not in images:
        remedy = "add the column path, relative to the study's folder"
        return [Problem(file, None, "path", "no image can be opened", remedy, "warning")]
    problems: list[Problem] = []
    remedy = "if the images are to be opened: correct the path, or let `overread init` find the files by their names"
    without = [row for row, name in enumerate(images["path"]) if not name]
    if without:
        message = f"{len(without)} of {len(images)} images have no path"
        problems.append(Problem(file, without[0] + 2, "path", message, remedy, "warning"))
    named = [name for name in images["path"] if name]
    if len(named) > 1 and not any((folder / name).is_file() for name in named):
        message = f"not one of {len(named)} files is there, such as {PurePosixPath(named[0]).name!r}"
        return [*problems, Problem(file, None, "path", message, remedy, "warning")]
    sizes: dict[int, list[int]] = defaultdict(list)
    for row, name in enumerate(images["path"]):
        path = folder / name
        if not name:
            continue
        if not path.is_file():
            # Marks can be merged without pixels, and an annotation tool exports its own paths.
            problems.append(
                Problem(file, row + 2, "path", f"{quote_cell(name)} is not there", remedy, "warning")
            )
        else:
            sizes[path.stat().st_size].append(row)
    candidates = [rows for rows in sizes.values() if len(rows) > 1]
    return [
        *problems,
        *(problem for rows in candidates for problem in same_bytes(images, rows, folder, file)),
    ]


def same_bytes(images: pd.DataFrame, rows: list[int], folder: Path, file: str) -> Iterator[Problem]:
    """Rows whose files hold what an earlier row's file holds."""
    first: dict[str, int] = {}
    splits = images["split"] if "split" in images else pd.Series("", index=images.index)
    for row in rows:
        with (folder / images["path"].iloc[row]).open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        other = first.setdefault(digest, row)
        if other == row:
            continue
        message = f"the same pixels as image {quote_cell(images['image_id'].iloc[other])} in row {other + 2}"
        if splits.iloc[row] != splits.iloc[other]:
            message += f", and in another split ({splits.iloc[other]} and {splits.iloc[row]})"
            yield Problem(file, row + 2, "path", message, "keep an image in one split", "leakage")
        else:
            yield Problem(file, row + 2, "path", message, "list an image once", "warning")
