"""Overread's tables: a folder of marks, readings and images, as CSV or Parquet.

Lengths are from the image's top-left corner, in mm, px or percent by their names (`overread.tables._units`). On import
the axes are sorted and the angle is brought to [0, 180); nothing else changes.
"""

from pathlib import Path

import numpy as np

from overread.errors import FormatError
from overread.marks._ellipse import ELLIPSE_COLUMNS, normalized_ellipses
from overread.marks._mark_set import MarkSet, read_folder, write_folder
from overread.tables import name_lengths, unit_of


def read(path: Path, *, derive_readings: bool = False) -> MarkSet:
    """Read a folder of tables, or the folder of a marks table.

    Parameters
    ----------
    path : Path
        The folder, or its ``marks.csv`` or ``marks.parquet``.
    derive_readings : bool
        Without a readings table, assume that each reader read only the images that they marked.
    """
    if path.is_file() and path.stem != "marks":
        raise FormatError(f"{path}: give the folder of the tables, or its marks.csv or marks.parquet")
    tables = read_folder(path.parent if path.is_file() else path, derive_readings=derive_readings)
    columns = name_lengths(ELLIPSE_COLUMNS, unit_of(tables.marks.columns) or "mm")
    ellipses = normalized_ellipses(tables.marks[columns].to_numpy(np.float64))
    marks = tables.marks.assign(**dict(zip(columns, ellipses.T, strict=True)))
    return MarkSet(marks, tables.readings, tables.images)


def write(mark_set: MarkSet, path: Path, *, ending: str = "csv", overwrite: bool = False) -> list[Path]:
    """Write the three tables to a folder."""
    return write_folder(mark_set, path, ending=ending, overwrite=overwrite)
