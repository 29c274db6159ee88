"""Grey levels of a region of interest: check it, quantize it, add a border."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread._kernel import kernel
from overread.errors import InputTypeError, InvalidInputError
from overread.features._arrays import F64, U16, Mask

# The levels of a 12-bit image; set by judgement.
MAX_LEVELS = 4096


def quantize(image: ArrayLike, mask: ArrayLike | None = None, *, n_bins: int = 32) -> U16:
    """Quantize the pixels of a region into bins of equal width (IBSI: fixed bin number).

    level = min(floor(n_bins (x - min) / (max - min)) + 1, n_bins), with the least and greatest value of the
    region. A constant region has level 1.

    Parameters
    ----------
    image : array-like
        Two dimensions, numbers; finite inside the region.
    mask : array-like, optional
        True in the region; same shape. Everything by default.
    n_bins : int, default=32
        Number of levels, 1 to 4096.

    Returns
    -------
    U16
        Levels 1 to ``n_bins``; 0 outside the region.
    """
    pixels, region = check_region(image, mask)
    check_bins(n_bins)
    values = pixels[region]
    levels = np.zeros((pixels.shape[0] + 2, pixels.shape[1] + 2), np.uint16)
    quantize_into(pixels, region, float(values.min()), float(values.max()), n_bins, levels)
    return levels[1:-1, 1:-1].copy()


def check_region(image: ArrayLike, mask: ArrayLike | None) -> tuple[F64, Mask]:
    """Give the image as float64 and the mask as bool, or an error that says what is wrong with them."""
    pixels = np.asarray(image)
    if pixels.dtype.kind not in "buif":
        raise InputTypeError(f"image: pixels are {pixels.dtype}; give real numbers.")
    if pixels.ndim != 2:
        raise InvalidInputError(f"image: {pixels.ndim} dimensions; give one slice of 2.")
    pixels = np.ascontiguousarray(pixels, dtype=np.float64)
    region = _check_mask(mask, pixels.shape)
    inside = pixels[region]
    if not np.isfinite(inside).all():
        raise InvalidInputError("image: NaN or infinity inside the region; mask these pixels out.")
    if inside.size and np.ptp(inside) > np.sqrt(np.finfo(float).max) / inside.size:
        raise InvalidInputError("image: the range of values is too wide to square; rescale the image.")
    return pixels, region


def _check_mask(mask: ArrayLike | None, shape: tuple[int, ...]) -> Mask:
    """Give a mask of a shape with at least one pixel; everything where none is given."""
    if mask is None:
        region = np.ones(shape, dtype=bool)
    else:
        region = np.asarray(mask)
        if region.dtype.kind not in "bui" or not np.isin(np.unique(region), (0, 1)).all():
            raise InputTypeError("mask: holds values other than 0 and 1; give booleans.")
        region = np.ascontiguousarray(region, dtype=bool)
    if region.shape != shape:
        raise InvalidInputError(
            f"mask: shape {region.shape}, the image has {shape}; give one mask pixel per pixel."
        )
    if not region.any():
        raise InvalidInputError("mask: the region is empty; give at least one pixel.")
    return region


def check_bins(n_bins: int) -> None:
    """Refuse a number of bins that no matrix can have."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)):
        raise InputTypeError(f"n_bins: {n_bins!r}; give a whole number.")
    if not 1 <= n_bins <= MAX_LEVELS:
        raise InvalidInputError(f"n_bins: {n_bins}; give 1 to {MAX_LEVELS}.")


def add_border(levels: ArrayLike, n_levels: int | None) -> tuple[U16, int, int]:
    """Give levels with a border of 0, the number of pixels in the region, the number of levels."""
    found = np.asarray(levels)
    if found.dtype.kind not in "bui":
        raise InputTypeError(f"levels: {found.dtype}; give whole numbers, from `quantize`.")
    if found.ndim != 2:
        raise InvalidInputError(f"levels: {found.ndim} dimensions; give one slice of 2.")
    if found.size == 0 or not found.any():
        raise InvalidInputError("levels: no pixel has a level of 1 or more; the region is empty.")
    greatest = int(found.max())
    check_bins(greatest if n_levels is None else n_levels)
    if int(found.min()) < 0 or (n_levels is not None and greatest > n_levels):
        raise InvalidInputError(
            f"levels: between {found.min()} and {greatest}; give 0 to {n_levels or greatest}."
        )
    padded = np.pad(found.astype(np.uint16), 1)
    return padded, int(np.count_nonzero(found)), greatest if n_levels is None else n_levels


@kernel
def quantize_into(
    image: NDArray[np.floating], mask: Mask, low: float, high: float, n_bins: int, levels: U16
) -> None:
    """Write levels 1 to n_bins of equal width from low to high, clipped, into a bordered array; 0 outside."""
    rows, columns = image.shape
    width = high - low if high > low else 1.0
    top = n_bins - 1.0
    for y in range(rows):
        for x in range(columns):
            level = min(max(n_bins * ((image[y, x] - low) / width), 0.0), top)
            levels[y + 1, x + 1] = np.int32(level) + np.int32(1) if mask[y, x] else np.int32(0)
