"""Checks of the image files that an images table points to, by their bytes alone: no image is decoded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pandas as pd

from overread.files.digests import digest_of_file
from overread.tables.cell_types import quote_cell
from overread.tables.problems import Problem

__all__ = ["check_image_files"]

REMEDY = (
    "if the images are to be opened: correct the path, or let `overread init` find the files by their names"
)


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
    without = [row for row, name in enumerate(images["path"]) if not name]
    if without:
        message = f"{len(without)} of {len(images)} images have no path"
        problems.append(Problem(file, without[0] + 2, "path", message, REMEDY, "warning"))
    named = [(row, name) for row, name in enumerate(images["path"]) if name]
    there = [row for row, name in named if (folder / name).is_file()]
    if len(named) > 1 and not there:
        message = f"not one of {len(named)} files is there, such as {PurePosixPath(named[0][1]).name!r}"
        return [*problems, Problem(file, None, "path", message, REMEDY, "warning")]
    present = set(there)
    # Marks can be merged without pixels, and an annotation tool exports its own paths: only a warning.
    problems += [
        Problem(file, row + 2, "path", f"{quote_cell(name)} is not there", REMEDY, "warning")
        for row, name in named
        if row not in present
    ]
    return [*problems, *find_same_bytes(images, there, folder, file)]


def find_same_bytes(images: pd.DataFrame, rows: list[int], folder: Path, file: str) -> Iterator[Problem]:
    """Rows whose files hold what an earlier row's file holds; only files of the same size are read."""
    sizes: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        sizes[(folder / images["path"].iloc[row]).stat().st_size].append(row)
    for alike in sizes.values():
        if len(alike) > 1:
            yield from same_bytes(images, alike, folder, file)


def same_bytes(images: pd.DataFrame, rows: list[int], folder: Path, file: str) -> Iterator[Problem]:
    """Rows whose files hold what an earlier row's file holds."""
    first: dict[str, int] = {}
    splits = images["split"] if "split" in images else pd.Series("", index=images.index)
    for row in rows:
        other = first.setdefault(digest_of_file(folder / images["path"].iloc[row]), row)
        if other == row:
            continue
        message = f"the same pixels as image {quote_cell(images['image_id'].iloc[other])} in row {other + 2}"
        if splits.iloc[row] != splits.iloc[other]:
            message += f", and in another split ({splits.iloc[other]} and {splits.iloc[row]})"
            yield Problem(file, row + 2, "path", message, "keep an image in one split", "leakage")
        else:
            yield Problem(file, row + 2, "path", message, "list an image once", "warning")
