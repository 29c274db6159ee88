"""From the file's pixels to the radiograph: resampled to square pixels in mm, then normalized by percentiles.

Along one axis, a source pixel i of size m covers [i m, (i+1) m] mm and a target pixel j of size g covers [j g, (j+1) g]
mm. If the grid is coarser (g >= m), the target is the mean over its interval: the weight of pixel i is the length of
the overlap over g. If it is finer, the target is Catmull-Rom's cubic (Keys 1981, a = -1/2) at the target's centre ((j +
1/2) g / m - 1/2 in pixels of the source). Both axes are independent, so pixels need not be square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from overread._text import short_repr
from overread.errors import ImageError, InputTypeError, InvalidInputError
from overread.images._limits import check_shape
from overread.images._source import SourceImage
from overread.images._spacing import LARGEST_MM, SMALLEST_MM, Spacing, SpacingSource, given_spacing

GRID_MM = 0.7
"""Default pixel size in mm of the grid on which the stages work."""
LEAST_COVERAGE = 0.5


@short_repr("pixels", "mm_per_px", "spacing_source", "source_shape")
@dataclass(frozen=True, eq=False)
class Radiograph:
    """Pixels on an isotropic grid, ready for measuring.

    The centre of pixel (row, column) lies at x = (column + 1/2) mm_per_px, y = (row + 1/2) mm_per_px from the
    top-left corner of the image.

    Parameters
    ----------
    pixels
        Array of shape (rows, columns), float32, finite; brighter pixels absorb more. The 1st and 99th percentile of the
        valid pixels are 0 and 1; values beyond are kept.
    mm_per_px
        Pixel size of the grid in mm.
    valid
        Boolean array of the same shape, False for padding and outside the image.
    spacing_source
        Source of the pixel size.
    source_mm_per_px
        Pixel size in the file in mm, (x, y).
    source_shape
        Rows and columns of the file.
    pixel_hash
        `pixel_fingerprint` of the file; None without a file.
    sketch
        `overread.images._sketch.sketch` of that file, or None.
    """

    pixels: NDArray[np.float32]
    mm_per_px: float
    valid: NDArray[np.bool_]
    spacing_source: SpacingSource
    source_mm_per_px: tuple[float, float]
    source_shape: tuple[int, int]
    pixel_hash: str | None = None
    sketch: str | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        rows, columns = self.pixels.shape
        return rows, columns

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height."""
        rows, columns = self.shape
        return columns * self.mm_per_px, rows * self.mm_per_px

    def to_pixels(self, length_mm: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn positions in mm into array indices, pixel centres at whole numbers."""
        return length_mm / self.mm_per_px - 0.5


class Resampler:
    """Resampling of one shape and spacing to square pixels of side `grid_mm`."""

    def __init__(self, shape: tuple[int, int], mm_per_px: tuple[float, float], grid_mm: float) -> None:
        rows, columns = (
            max(1, round(n * size / grid_mm)) for n, size in zip(shape, mm_per_px[::-1], strict=True)
        )
        check_shape(rows, columns)
        self.shape = rows, columns
        self._down = axis_weights(shape[0], rows, grid_mm / mm_per_px[1])
        self._across = axis_weights(shape[1], columns, grid_mm / mm_per_px[0])

    def __call__(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Resample values that are all valid."""
        lines = self._down @ values
        return np.ascontiguousarray((self._across @ lines.T).T)

    def resample_masked(
        self, values: NDArray[np.float32], valid: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Resample over valid pixels only; a target is valid if at least half of its weight is valid."""
        coverage = self(valid.astype(np.float32))
        reached = coverage >= LEAST_COVERAGE
        if not reached.any():
            raise ImageError("all pixels are padding")
        total = self(np.where(valid, values, np.float32(0.0)))
        return np.divide(total, coverage, out=np.zeros_like(total), where=reached), reached


def axis_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Weights of one axis, targets x sources, each row summing to 1; `scale` is target size over source size."""
    if scale >= 1.0:
        return _area_weights(n_source, n_target, scale)
    return _cubic_weights(n_source, n_target, scale)


def _area_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Overlap of each target interval with each source pixel, cut at the image's end."""
    edges = np.minimum(np.arange(n_target + 1) * scale, n_source)
    first = np.minimum(np.floor(edges[:-1]).astype(np.int64), n_source - 1)
    reach = int(np.ceil(scale)) + 1
    source = first[:, None] + np.arange(reach)
    overlap = np.minimum(source + 1, edges[1:, None]) - np.maximum(source, edges[:-1, None])
    return _normalize_rows(np.maximum(overlap, 0.0), source, n_source)


def _cubic_weights(n_source: int, n_target: int, scale: float) -> sparse.csr_array:
    """Catmull-Rom weights of the four pixels around each target's centre; the border pixel repeats outside."""
    centre = (np.arange(n_target) + 0.5) * scale - 0.5
    source = np.floor(centre).astype(np.int64)[:, None] + np.arange(-1, 3)
    t = np.abs(centre[:, None] - source)
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    return _normalize_rows(np.where(t <= 1.0, near, far), source, n_source)


def _normalize_rows(
    weight: NDArray[np.float64], source: NDArray[np.int64], n_source: int
) -> sparse.csr_array:
    """Sparse matrix of the weights, indices outside moved to the border."""
    n_target, reach = weight.shape
    weight = weight / weight.sum(axis=1, keepdims=True)
    target = np.repeat(np.arange(n_target), reach)
    index = np.clip(source, 0, n_source - 1).ravel()
    matrix = sparse.coo_array((weight.ravel().astype(np.float32), (target, index)), (n_target, n_source))
    matrix = matrix.tocsr()
    matrix.eliminate_zeros()
    return matrix


LOW_PERCENT, HIGH_PERCENT = 1.0, 99.0
ROUNDING = 1e-6


def from_array(
    pixels: ArrayLike,
    mm_per_px: float | Sequence[float],
    *,
    grid_mm: float = GRID_MM,
    valid: ArrayLike | None = None,
) -> Radiograph:
    """Make a radiograph from an array, as `read_image` does from a file.

    Parameters
    ----------
    pixels
        Array of shape (rows, columns) of finite numbers; higher values absorb more.
    mm_per_px
        Pixel size in mm: one number, or (x, y).
    grid_mm
        Side in mm of the square pixels to resample to.
    valid
        Boolean array of the same shape, False outside the image; such pixels may be non-finite. None: all valid.

    Raises
    ------
    InvalidInputError
        If shape, type, values or sizes are invalid; as `ImageError` if all values are equal.
    """
    array = _read_array(pixels)
    mask = None if valid is None else np.asarray(valid)
    if mask is not None and (mask.dtype != np.bool_ or mask.shape != array.shape):
        raise InvalidInputError(f"valid must be booleans of shape {array.shape}")
    inside = array if mask is None else array[mask]
    if array.dtype.kind == "f" and not np.isfinite(inside).all():
        raise InvalidInputError("pixels must be finite where they are valid")
    if inside.size and float(np.abs(inside).max()) > float(np.finfo(np.float32).max) / 4.0:
        raise InvalidInputError("pixels must fit into 32-bit floating point")
    source = SourceImage(array, (0.0, 0.0), valid=mask)
    return radiograph(source, given_spacing(mm_per_px), grid_mm=grid_mm)


def _read_array(pixels: ArrayLike) -> NDArray[Any]:
    """2-D array of real numbers within the limits."""
    array = np.asarray(pixels)
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"pixels must be real numbers, not {array.dtype}")
    if array.ndim != 2:
        raise InvalidInputError(f"pixels must be rows x columns, not of shape {array.shape}")
    check_shape(*array.shape)
    return array.astype(np.uint8) if array.dtype.kind == "b" else array


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
        pixels=_normalize(values, valid),
        mm_per_px=grid_mm,
        valid=valid,
        spacing_source=spacing.source,
        source_mm_per_px=(spacing.x, spacing.y),
        source_shape=source.shape,
    )


def checked_grid(grid_mm: float) -> float:
    """Side of the grid's pixels, within the same limits as a file's."""
    if not isinstance(grid_mm, int | float | np.number) or not SMALLEST_MM <= grid_mm <= LARGEST_MM:
        raise InvalidInputError(f"grid_mm must be a number from {SMALLEST_MM:g} to {LARGEST_MM:g}")
    return float(grid_mm)


def _normalize(values: NDArray[np.float32], valid: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(v - p1) / (p99 - p1) over valid pixels, 0 elsewhere; the extremes replace equal percentiles."""
    inside = values[valid]
    low, high = (float(v) for v in np.percentile(inside, (LOW_PERCENT, HIGH_PERCENT)))
    if _same(low, high):
        low, high = float(inside.min()), float(inside.max())
    if _same(low, high):
        raise ImageError("all pixels have the same value: there is nothing to measure")
    scaled = (values.astype(np.float64) - low) / (high - low)
    return np.where(valid, scaled, 0.0).astype(np.float32)


def _same(low: float, high: float) -> bool:
    """Whether two values are equal up to the rounding of the resampling."""
    return high - low <= ROUNDING * max(abs(low), abs(high))


# A cache line, enough for any vector instruction.
ALIGNMENT_BYTES = 64

Map = NDArray[np.float32]


def blur(image: Map, sigma_px: float, *, border: int = cv2.BORDER_REPLICATE) -> Map:
    """Gaussian blur; the border is repeated outwards, unless another border mode of OpenCV is given."""
    smooth: Map = cv2.GaussianBlur(image, (0, 0), sigma_px, borderType=border)
    return smooth


def magnitude(x: Map, y: Map) -> Map:
    """Square root of x^2 + y^2.

    The last bit of OpenCV's result depends on its address in memory. It is written to the start of a cache line, so
    that the same image gives the same bits in every run.
    """
    room = np.empty(x.size + ALIGNMENT_BYTES // 4, dtype=np.float32)
    first = -room.ctypes.data % ALIGNMENT_BYTES // 4
    length: Map = cv2.magnitude(x, y, room[first : first + x.size].reshape(x.shape))
    return length
