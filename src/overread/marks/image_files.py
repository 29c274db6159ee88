"""Checks that the image files are there that an images table points to; no image is opened."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pandas as pd

from overread.tables.cell_types import quote_cell
from overread.tables.problems import Problem

__all__ = ["check_image_files"]

REMEDY = (
    "if the images are to be opened: correct the path, or let `overread init` find the files by their names"
)


def check_image_files(images: pd.DataFrame, folder: Path, *, file: str = "images") -> list[Problem]:
    """Find paths without a file.

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
        Warnings.
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
    return problems
