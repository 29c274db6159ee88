"""Units of lengths: millimetres, pixels, or per cent of an image's width.

The name of a column of lengths ends in its unit, in files and in public frames: ``x_mm``, ``x_px``, ``x_percent``.
Inside the package the names are plain (``x``), and the code keeps the unit separately.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import TableError

Floats = NDArray[np.float64]
LengthUnit = Literal["mm", "px", "percent"]

UNIT_WORDS = {"mm": "mm", "px": "px", "percent": "% of the width"}
"""Units for the labels of axes."""
LENGTHS = ("x", "y", "semi_major", "semi_minor", "radius", "diameter")
"""Columns of lengths, by their plain names."""
SPACING = ("mm_per_px_x", "mm_per_px_y")
ENDINGS: dict[str, tuple[str, LengthUnit]] = {
    f"{name}_{unit}": (name, unit) for name in LENGTHS for unit in get_args(LengthUnit)
}
# Sides of a pixel that differ by less are equal: rounding in a table explains it.
SQUARE_WITHIN = 0.01


def unit_of(columns: Iterable[str], place: str = "the table") -> LengthUnit | None:
    """Return the unit that the names of the lengths end in; None where no name has such an ending."""
    found = [name for name in columns if name in ENDINGS]
    for name in found:
        if ENDINGS[name][1] != ENDINGS[found[0]][1]:
            raise TableError(
                f"{place}: columns {found[0]} and {name}: lengths in two units (use one unit in a table)"
            )
    return ENDINGS[found[0]][1] if found else None


def plain(
    frame: pd.DataFrame, unit: LengthUnit | None = None, place: str = "the table"
) -> tuple[pd.DataFrame, LengthUnit]:
    """Return a table with plain names of lengths, and their unit."""
    named_unit = unit_of(frame.columns, place)
    bare = [name for name in LENGTHS if name in frame]
    if named_unit is None:
        if unit is None and bare:
            raise TableError(
                f"{place}: column {bare[0]}: has no unit (name it {bare[0]}_mm, {bare[0]}_px or "
                f"{bare[0]}_percent, or give unit=)"
            )
        return frame, unit or "mm"
    ended = next(name for name in frame.columns if name in ENDINGS)
    if bare:
        raise TableError(
            f"{place}: columns {bare[0]} and {ended}: give all lengths of a table with their unit, or none"
        )
    if unit not in (None, named_unit):
        raise TableError(f"{place}: column {ended}: lengths are in {named_unit}, but {unit} is needed")
    return frame.rename(columns={name: plain_name for name, (plain_name, _) in ENDINGS.items()}), named_unit


def name_lengths(names: Iterable[str], unit: LengthUnit) -> list[str]:
    """Return plain names of columns with the unit after those of lengths."""
    return [f"{name}_{unit}" if name in LENGTHS else name for name in names]


def named(frame: pd.DataFrame, unit: LengthUnit) -> pd.DataFrame:
    """Return a table whose plain names of lengths end in the unit."""
    return frame.set_axis(name_lengths(frame.columns, unit), axis=1)


def check_sizes(images: pd.DataFrame, file: Path) -> None:
    """Refuse an images table that does not allow lengths in pixels or per cent."""
    widths = images["width_px"].to_numpy(np.float64) if "width_px" in images else np.full(len(images), np.nan)
    empty = np.flatnonzero(np.isnan(widths))
    if len(empty):
        raise TableError(
            f"{file}, row {empty[0] + 2}, column width_px: is empty, but [units] needs the size of every image"
            f" (overread init {file.parent} writes it)"
        )
    uneven = _find_uneven(images)
    if len(uneven):
        raise TableError(
            f"{file}, row {uneven[0] + 2}, column {SPACING[1]}: pixels are not square, so lengths cannot be"
            ' counted in them (use [units] unit = "mm")'
        )


def _find_uneven(images: pd.DataFrame) -> NDArray[np.intp]:
    """Find the rows of images whose pixels are known not to be square."""
    if not {*SPACING} <= {*images}:
        return np.empty(0, np.intp)
    x, y = images[list(SPACING)].to_numpy(np.float64).T
    return np.flatnonzero(np.abs(x - y) > SQUARE_WITHIN * x)


def pixel_sides(images: pd.DataFrame, unit: LengthUnit) -> Floats:
    """Return the side of a pixel of each image in a unit; NaN if the images table does not state it."""
    if unit == "px":
        return np.ones(len(images))
    name = SPACING[0] if unit == "mm" else "width_px"
    values = images[name].to_numpy(np.float64) if name in images else np.full(len(images), np.nan)
    return values if unit == "mm" else 100.0 / values


def convert_lengths(
    table: pd.DataFrame, images: pd.DataFrame, unit: LengthUnit, place: str = "the table"
) -> pd.DataFrame:
    """Convert the lengths of a table with image_id to a unit, under plain names."""
    found, own = plain(table, place=place)
    if own == unit or not len(found):
        return found
    stretched = found["image_id"].isin(images["image_id"].iloc[_find_uneven(images)]).to_numpy()
    if stretched.any():
        row = int(stretched.argmax())
        raise TableError(
            f"{place}, row {row + 2}, column y_{own}: image {found['image_id'].iloc[row]!r} has pixels that are not"
            f" square, so that {own} cannot become {unit} (give lengths in {unit}; overread import converts px)"
        )
    sides = pixel_sides(images, unit) / pixel_sides(images, own)
    factors = found["image_id"].map(dict(zip(images["image_id"], sides, strict=True))).astype(np.float64)
    unknown = np.flatnonzero(factors.isna())
    if len(unknown):
        needed = " and ".join(
            name for one, name in (("mm", "mm_per_px_x"), ("percent", "width_px")) if one in (own, unit)
        )
        raise TableError(
            f"{place}, row {unknown[0] + 2}, column x_{own}: lengths are in {own} but needed in {unit}, and the images "
            f"table has no {needed} of image {found['image_id'].iloc[unknown[0]]!r} (add it; or name the columns "
            f'x_{unit} and so on if they are in {unit}; for a study in {own} set [units] unit = "{own}")'
        )
    return scale_lengths(found, factors)


def scale_lengths(table: pd.DataFrame, factor: float | pd.Series[float]) -> pd.DataFrame:
    """Multiply every length of a table with plain names."""
    return table.assign(**{name: table[name] * factor for name in LENGTHS if name in table})


def find_radii(marks: pd.DataFrame) -> Floats:
    """Return the radii of discs of the areas of marks with plain names."""
    axes = marks[["semi_major", "semi_minor"]].to_numpy(np.float64)
    return np.asarray(np.sqrt(axes.prod(axis=1)))
