"""What the families look at on the whole radiograph: smoothed copies, borders of the anatomy, the lungs' frames."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread._kernel import kernel
from overread.features._anatomy import Anatomy
from overread.features._arrays import F32, F64, Mask
from overread.features._learned import Band, make_bands
from overread.features._outlines import at_least_two
from overread.images import Radiograph

T = TypeVar("T")

# Sigmas of the Gaussians, in mm: the one for sampling, then those of the blob filters, five a decade. A disc of
# radius sqrt(2) sigma answers most (Lindeberg 1998): nodules of 4.5 to 28 mm across.
BASE_MM = 1.0
SCALES_MM = (1.6, 2.5, 4.0, 6.3, 10.0)
# Grey levels are cut here: 0 and 1 are the 1st and 99th percentile, what is beyond 10 measures nothing.
GREY_LIMIT = 10.0
# Largest distance to a structure, also if there is no such structure. Set by judgement.
FARTHEST_MM = 60.0
# A pixel and its four neighbours.
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], dtype=np.uint8)


class once(Generic[T]):  # noqa: N801
    """A property that is computed once, also when threads ask for it at the same time."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type) -> T:
        kept: dict[str, Any] = instance.__dict__
        if self.name not in kept:
            with instance.lock:
                if self.name not in kept:
                    kept[self.name] = self.compute(instance)
        value: T = kept[self.name]
        return value


@dataclass(frozen=True, eq=False)
class Border:
    """Pixels (columns, rows) on either side of a mask's border; the image's edge is none."""

    mask: Mask
    inner: F64
    outer: F64

    @classmethod
    def of(cls, mask: Mask) -> Border:
        """Find the border of a mask."""
        filled = mask.astype(np.uint8)
        inner = filled & ~cv2.erode(filled, CROSS, borderType=cv2.BORDER_REPLICATE)
        outer = cv2.dilate(filled, CROSS, borderType=cv2.BORDER_REPLICATE) & ~filled
        return cls(mask, _places_of(inner), _places_of(outer))

    def signed_distance(self, column: F64, row: F64, *, mm_per_px: float) -> F64:
        """Distance to the mask in mm: positive outside, negative inside (then to its outside); at most 60."""
        at = at_nearest_pixel(self.mask, column, row)
        distance = np.empty(column.size)
        distance[at] = -_nearest_distance(self.outer, column[at], row[at])
        distance[~at] = _nearest_distance(self.inner, column[~at], row[~at])
        return np.clip(distance * mm_per_px, -FARTHEST_MM, FARTHEST_MM)


def _places_of(mask: NDArray[np.uint8]) -> F64:
    """Columns and rows of the pixels that are not 0: (2, pixels)."""
    found = cv2.findNonZero(mask)
    return (
        np.empty((2, 0)) if found is None else np.ascontiguousarray(found.reshape(-1, 2).T, dtype=np.float64)
    )


def at_nearest_pixel(image: NDArray[Any], column: F64, row: F64) -> NDArray[Any]:
    """Value of the pixel nearest to each place, of the border's pixel beyond it."""
    rows, columns = image.shape
    i = np.clip(np.floor(row + 0.5).astype(np.int64), 0, rows - 1)
    j = np.clip(np.floor(column + 0.5).astype(np.int64), 0, columns - 1)
    return image[i, j]


@dataclass(frozen=True)
class LungFrame:
    """Box of one lung field, in pixels; ``medial`` and ``lateral`` are columns, so either may be the larger."""

    top: float
    bottom: float
    medial: float
    lateral: float
    area: float

    @property
    def height(self) -> float:
        """Rows from top to bottom, at least one."""
        return max(self.bottom - self.top, 1.0)

    @property
    def width(self) -> float:
        """Columns from the medial to the lateral side, at least one."""
        return max(abs(self.lateral - self.medial), 1.0)


class ImageMaps:
    """Maps of one radiograph, each computed when a family first asks for it.

    Grey levels are cut to -10..10; where the file has no valid pixel the nearest valid one stands in.
    """

    def __init__(self, radiograph: Radiograph, anatomy: Anatomy) -> None:
        self.radiograph = radiograph
        self.anatomy = anatomy
        self.lock = threading.RLock()

    @once
    def grey(self) -> F32:
        """Grey levels that all measures start from."""
        pixels = self.radiograph.pixels
        valid = self.radiograph.valid
        if not valid.all() and valid.any():
            nearest = ndimage.distance_transform_edt(~valid, return_distances=False, return_indices=True)
            pixels = pixels[tuple(nearest)]
        return at_least_two(np.clip(pixels, -GREY_LIMIT, GREY_LIMIT).astype(np.float32))

    @once
    def base(self) -> F32:
        """Radiograph smoothed by 1 mm."""
        return blur(self.grey, BASE_MM / self.radiograph.mm_per_px)

    @once
    def scale_space(self) -> tuple[F32, ...]:
        """Radiograph smoothed to each of the five scales, each from the one before."""
        levels = []
        level, sigma = self.base, BASE_MM
        for scale in SCALES_MM:
            level = blur(level, float(np.sqrt(scale**2 - sigma**2)) / self.radiograph.mm_per_px)
            sigma = scale
            levels.append(level)
        return tuple(levels)

    @once
    def bands(self) -> tuple[Band, ...]:
        """Radiograph at three resolutions, which the learned network looks at."""
        return make_bands(self.grey, self.radiograph.mm_per_px)

    @once
    def lungs(self) -> Mask:
        """Both lung fields."""
        return np.ascontiguousarray(self.anatomy.lungs)

    @once
    def lung_border(self) -> Border:
        """Border of both lung fields."""
        return Border.of(self.lungs)

    @once
    def rib_border(self) -> Border:
        """Border of what is rib rather than not."""
        return Border.of(self.anatomy.ribs > 0.5)

    @once
    def clavicle_border(self) -> Border:
        """Border of the clavicles."""
        return Border.of(self.anatomy.clavicles)

    @once
    def mediastinum_border(self) -> Border:
        """Border of the mediastinum."""
        return Border.of(self.anatomy.mediastinum)

    @once
    def midline(self) -> float:
        """Column halfway between the lungs' centroids; else the thorax's centroid; else the image's middle."""
        lungs = [
            _mean_column(lung) for lung in (self.anatomy.left_lung, self.anatomy.right_lung) if lung.any()
        ]
        if len(lungs) == 2:
            return sum(lungs) / 2.0
        if self.anatomy.thorax.any():
            return _mean_column(self.anatomy.thorax)
        return (self.radiograph.shape[1] - 1) / 2.0

    @once
    def lung_frames(self) -> tuple[LungFrame, LungFrame]:
        """Boxes of the left and the right lung field of the image; of the thorax's half where one is missing."""
        columns = np.arange(self.radiograph.shape[1])
        sides = (self.anatomy.left_lung, self.anatomy.right_lung)
        halves = (columns <= self.midline, columns >= self.midline)
        frames = []
        for lung, half, is_left in zip(sides, halves, (True, False), strict=True):
            region = lung if lung.any() else self.anatomy.thorax & half
            region = region if region.any() else np.broadcast_to(half, self.radiograph.shape)
            rows, across = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
            medial, lateral = (across[-1], across[0]) if is_left else (across[0], across[-1])
            frames.append(LungFrame(*map(float, (rows[0], rows[-1], medial, lateral, region.sum()))))
        return frames[0], frames[1]


def blur(image: F32, sigma_px: float) -> F32:
    """Convolve with a Gaussian cut at three sigmas; beyond the border the nearest pixel goes on."""
    size = 2 * int(np.ceil(3.0 * sigma_px)) + 1
    blurred: F32 = cv2.GaussianBlur(
        image, (size, size), sigmaX=sigma_px, sigmaY=sigma_px, borderType=cv2.BORDER_REPLICATE
    )
    return blurred


def _mean_column(mask: Mask) -> float:
    """Column of a mask's centroid."""
    counts = mask.sum(axis=0)
    return float(counts @ np.arange(counts.size) / counts.sum())


@kernel
def _nearest_distance(points: F64, column: F64, row: F64) -> F64:
    """Distance from each place to the nearest of the points; infinite without points."""
    out = np.empty(column.size)
    for c in range(column.size):
        best = np.inf
        for p in range(points.shape[1]):
            dx = points[0, p] - column[c]
            dy = points[1, p] - row[c]
            best = min(best, dx * dx + dy * dy)
        out[c] = np.sqrt(best)
    return out
