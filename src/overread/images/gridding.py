"""From source pixels to the radiograph: resampled, then normalized by robust percentiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import ImageError, InputTypeError, InvalidInputError
from overread.images.limits import check_shape
from overread.images.radiograph import GRID_MM, Radiograph
from overread.images.resampling import Resampler
from overread.images.source import SourceImage
from overread.images.spacing import LARGEST_MM, SMALLEST_MM, Spacing, given_spacing

__all__ = ["checked_grid", "from_array", "radiograph"]

LOW_PERCENT, HIGH_PERCENT = 1.0, 99.0
ROUNDING = 1e-6


def from_array(
    pixels: ArrayLike,
    mm_per_px: float | Sequence[float],
    *,
    grid_mm: float = GRID_MM,
    valid: ArrayLike | None = None,
) -> Radiograph:
    """Make a radiograph of an array, as `read_image` makes one of a file.

    Parameters
    ----------
    pixels
        Rows x columns, finite numbers; what absorbs more is higher.
    mm_per_px
        Size of a pixel: one number, or (x, y).
    grid_mm
        Side of the square pixels to resample to.
    valid
        False where the array holds no image; such pixels may be non-finite.

    Raises
    ------
    InvalidInputError
        If shape, type, values or sizes cannot be used; as `ImageError` if there is nothing to normalize by.
    """
    array = read_array(pixels)
    mask = None if valid is None else read_mask(valid, array)
    inside = array if mask is None else array[mask]
    if array.dtype.kind == "f" and not np.isfinite(inside).all():
        raise InvalidInputError("pixels must be finite where they are valid")
    if inside.size and float(np.abs(inside).max()) > float(np.finfo(np.float32).max) / 4.0:
        raise InvalidInputError("pixels must fit into 32-bit floating point")
    source = SourceImage(array, (0.0, 0.0), valid=mask)
    return radiograph(source, given_spacing(mm_per_px), grid_mm=grid_mm)


def read_array(pixels: ArrayLike) -> NDArray[Any]:
    """2-D array of real numbers within the caps."""
    array = np.asarray(pixels)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"pixels must be real numbers, not {array.dtype}")
    if array.ndim != 2:
        raise InvalidInputError(f"pixels must be rows x columns, not of shape {array.shape}")
    check_shape(*array.shape)
    return array.astype(np.uint8) if array.dtype.kind == "b" else array


def read_mask(valid: ArrayLike, array: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of the array's shape."""
    mask = np.asarray(valid)
    if mask.dtype != np.bool_ or mask.shape != array.shape:
        raise InvalidInputError(f"valid must be booleans of shape {array.shape}")
    return mask


def radiograph(source: SourceImage, spacing: Spacing, *, grid_mm: float = GRID_MM) -> Radiograph:
    """Resample and normalize the values of a source image."""
    grid_mm = checked_grid(grid_mm)
    resample = Resampler(source.shape, (spacing.x, spacing.y), grid_mm)
    if source.valid is None:
        values = resample(source.measured())
        valid = np.ones(resample.shape, np.bool_)
    else:
        values, valid = resample.resample_masked(source.measured(), source.valid)
    return Radiograph(
        pixels=normalize(values, valid),
        mm_per_px=grid_mm,
        valid=valid,
        spacing_source=spacing.source,
        source_mm_per_px=(spacing.x, spacing.y),
        source_shape=source.shape,
    )


def checked_grid(grid_mm: float) -> float:
    """Side of the grid's pixels, within the same bounds as a file's."""
    if not isinstance(grid_mm, int | float | np.number) or not SMALLEST_MM <= grid_mm <= LARGEST_MM:
        raise InvalidInputError(f"grid_mm must be a number from {SMALLEST_MM:g} to {LARGEST_MM:g}")
    return float(grid_mm)


def normalize(values: NDArray[np.float32], valid: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(v - p1) / (p99 - p1) over valid pixels, 0 elsewhere.

    If both percentiles are equal (a few bright pixels on a constant), the extremes take their place.

    Raises
    ------
    ImageError
        If all valid pixels have the same value.
    """
    inside = values[valid]
    low, high = (float(v) for v in np.percentile(inside, (LOW_PERCENT, HIGH_PERCENT)))
    if same(low, high):
        low, high = float(inside.min()), float(inside.max())
    if same(low, high):
        raise ImageError("every pixel has the same value: there is nothing to measure")
    scaled = (values.astype(np.float64) - low) / (high - low)
    return np.where(valid, scaled, 0.0).astype(np.float32)


def same(low: float, high: float) -> bool:
    """Whether two values differ by no more than the rounding of the resampling."""
    return high - low <= ROUNDING * max(abs(low), abs(high))
