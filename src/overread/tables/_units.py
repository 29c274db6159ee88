"""Units of lengths: mm, pixels, or per cent of an image's width, and conversion of tables between them.

Columns of lengths end in ``_mm`` whatever the unit of the study is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import TableError

Floats = NDArray[np.float64]
LengthUnit = Literal["mm", "px", "fraction"]

UNIT_WORDS = {"mm": "mm", "px": "px", "fraction": "% of the width"}
"""Units as they are written at an axis."""
UNIT_ENDINGS = {"mm": "mm", "px": "px", "fraction": "percent"}
"""Endings of the columns of a table that is for other tools."""
PERCENT = 100.0
"""Where lengths are fractions of the picture's width they are counted in per cent of it."""
SPACING = ("mm_per_px_x", "mm_per_px_y")
LENGTHS = ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "radius_mm", "diameter_mm")
"""Columns of a study's tables that are lengths."""
# Sides of a pixel that differ by less are one: rounding in a table explains it.
SQUARE_WITHIN = 0.01


def is_mm(unit: str) -> bool:
    """Whether lengths in the unit are lengths in the patient, which need no conversion."""
    return unit == "mm"


def find_unit_spacing(images: pd.DataFrame, unit: str, file: Path) -> Floats:
    """Return the side of a pixel in the unit (px or fraction), image by image.

    Raises
    ------
    TableError
        If the images table lacks the widths that the unit is made of, or pixels are not square.
    """
    widths = images["width_px"].to_numpy(np.float64) if "width_px" in images else np.full(len(images), np.nan)
    empty = np.flatnonzero(np.isnan(widths))
    if len(empty):
        raise TableError(
            f"{file}, row {empty[0] + 2}, column width_px: is empty, and [units] needs the size of every image"
            f" (overread init {file.parent} writes it)"
        )
    known = [images[name].to_numpy(np.float64) for name in SPACING if name in images]
    if len(known) == 2:
        uneven = np.flatnonzero(np.abs(known[0] - known[1]) > SQUARE_WITHIN * known[0])
        if len(uneven):
            raise TableError(
                f"{file}, row {uneven[0] + 2}, column {SPACING[1]}: pixels are not square, so that lengths cannot be"
                ' counted in them (use [units] unit = "mm")'
            )
    return np.ones(len(images)) if unit == "px" else PERCENT / widths


def find_spacing(images: pd.DataFrame) -> Floats:
    """Return the side of a pixel of each image in the unit of an images table; 1 where it tells none."""
    if SPACING[0] not in images:
        return np.ones(len(images))
    return images[SPACING[0]].fillna(1.0).to_numpy(np.float64)


def convert_lengths(table: pd.DataFrame, images: pd.DataFrame, spacing: Floats) -> pd.DataFrame:
    """Convert the lengths of a table with image_id to the unit.

    Parameters
    ----------
    table
        Lengths are in the unit that the images' mm_per_px speaks of; pixels without.
    images
        The images table as it was read.
    spacing
        Side of a pixel of each image in the new unit.
    """
    factors = dict(zip(images["image_id"], spacing / find_spacing(images), strict=True))
    return scale_lengths(table, table["image_id"].map(factors).astype(np.float64))


def scale_lengths(table: pd.DataFrame, factor: float | pd.Series[float]) -> pd.DataFrame:
    """Multiply every length of a table."""
    return table.assign(**{name: table[name] * factor for name in LENGTHS if name in table})


def find_radii(marks: pd.DataFrame) -> Floats:
    """Return the radii of discs of the marks' areas."""
    axes = marks[["semi_major_mm", "semi_minor_mm"]].to_numpy(np.float64)
    return np.asarray(np.sqrt(axes.prod(axis=1)))
