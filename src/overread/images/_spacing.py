"""Pixel size: PixelSpacing, else ImagerPixelSpacing over magnification, else the user's value.

A size is never assumed. A wrong value in a file (0, "0,143", nan) is an error unless the user gives the size; if file
and user both give one, they must agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from overread.errors import ImageError, InvalidInputError


class SpacingSource(StrEnum):
    """Source of the pixel size."""

    PIXEL_SPACING = "PixelSpacing"
    IMAGER_PIXEL_SPACING = "ImagerPixelSpacing"
    IMAGER_OVER_MAGNIFICATION = "ImagerPixelSpacing / EstimatedRadiographicMagnificationFactor"
    GIVEN = "given"


# Outside the range of radiographs, but within errors of the unit (cm, m, dpi). Set by judgement, as the two below.
SMALLEST_MM, LARGEST_MM = 0.01, 10.0
LARGEST_ASPECT = 5.0
LARGEST_MAGNIFICATION = 3.0
AGREEMENT = 0.01
"""File and user may differ by 1 %, which rounding in a table explains."""
REMEDY = "give mm_per_px (--mm-per-px, or in a study the columns mm_per_px_x and mm_per_px_y of images.csv)"
DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Spacing:
    """Pixel size and its source."""

    x: float
    y: float
    source: SpacingSource


@dataclass(frozen=True)
class FileSpacing:
    """Pixel size of a file: a usable size, or the reason why there is none."""

    spacing: Spacing | None = None
    problem: str = "the file does not state the pixel size"


def file_spacing(pixel: str, imager: str, magnification: str) -> FileSpacing:
    """Read the pixel size from the text of DICOM's attributes, rows first; empty text counts as absent."""
    try:
        if pixel:
            return FileSpacing(_pair(pixel, "PixelSpacing", 1.0, SpacingSource.PIXEL_SPACING))
        if imager:
            factor, source = 1.0, SpacingSource.IMAGER_PIXEL_SPACING
            if magnification:
                factor = _magnification_factor(magnification)
                source = SpacingSource.IMAGER_OVER_MAGNIFICATION
            return FileSpacing(_pair(imager, "ImagerPixelSpacing", factor, source))
    except InvalidInputError as error:
        return FileSpacing(None, str(error))
    return FileSpacing()


def _pair(text: str, name: str, factor: float, source: SpacingSource) -> Spacing:
    """Two decimal strings, rows first, divided by a factor."""
    parts = text.split("\\")
    if len(parts) != 2:
        raise InvalidInputError(f"{name} has {len(parts)} values instead of 2")
    y, x = (decimal(part, name) / factor for part in parts)
    _check_size(x, y, name)
    return Spacing(x, y, source)


def _magnification_factor(text: str) -> float:
    """Magnification of the patient on the detector, at least 1."""
    factor = decimal(text, "EstimatedRadiographicMagnificationFactor")
    if not 1.0 <= factor <= LARGEST_MAGNIFICATION:
        raise InvalidInputError(
            f"EstimatedRadiographicMagnificationFactor is outside 1 to {LARGEST_MAGNIFICATION:g}"
        )
    return factor


def decimal(text: str, name: str) -> float:
    """Read a decimal string; Python's float would also take 'nan', '1_0' and other scripts' digits."""
    stripped = text.strip(" \0")
    if not stripped.isascii() or not DECIMAL.fullmatch(stripped):
        raise InvalidInputError(f"{name} is not a number in DICOM's notation")
    return float(stripped)


def _check_size(x: float, y: float, name: str) -> None:
    """Refuse a pixel size that no radiograph has."""
    for size in (x, y):
        if not math.isfinite(size) or not SMALLEST_MM <= size <= LARGEST_MM:
            raise InvalidInputError(f"{name} is {size:g} mm, outside {SMALLEST_MM:g} to {LARGEST_MM:g} mm")
    if max(x, y) > LARGEST_ASPECT * min(x, y):
        raise InvalidInputError(f"{name} makes pixels {max(x, y) / min(x, y):.3g} times as long as wide")


def given_spacing(mm_per_px: float | Sequence[float]) -> Spacing:
    """Pixel size from the user: one number, or (x, y)."""
    try:
        sizes = np.asarray(mm_per_px)
    except ValueError:
        sizes = np.empty(0)
    if sizes.dtype.kind not in "iuf" or sizes.shape not in ((), (2,)):
        raise InvalidInputError("mm_per_px must be a number, or two numbers (x, y)")
    x, y = (float(v) for v in np.broadcast_to(sizes, 2))
    _check_size(x, y, "mm_per_px")
    return Spacing(x, y, SpacingSource.GIVEN)


def choose_spacing(stated: FileSpacing, given: float | Sequence[float] | None) -> Spacing:
    """Pixel size to use: the file's, with which a given one must agree to 1 %; else the given one."""
    if given is None:
        if stated.spacing is None:
            raise ImageError(f"{stated.problem}; {REMEDY}")
        return stated.spacing
    by_user = given_spacing(given)
    if stated.spacing is None:
        return by_user
    for name, ours, theirs in (("x", by_user.x, stated.spacing.x), ("y", by_user.y, stated.spacing.y)):
        if abs(ours - theirs) > AGREEMENT * theirs:
            raise ImageError(
                f"mm_per_px in {name} is given as {ours:g}, but {stated.spacing.source} is {theirs:g}; "
                "correct the one that is wrong"
            )
    return stated.spacing
