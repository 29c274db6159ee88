"""Curvature of the brightness at several scales: blobs are curved in every direction, ribs and vessels in one.

At scale sigma the image is smoothed by a Gaussian, and k1 <= k2 are the eigenvalues of minus sigma^2 times the
Hessian. A bright blob has k1 > 0. On a ridge k1 is near 0 however bright it is, which suppresses ribs. Scales are
computed on the coarsest level of a pyramid whose pixels are at most sigma / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.anatomy.blurring import blur

__all__ = ["SCALES_MM", "Level", "Scale", "pyramid", "reflecting_blur", "scale_maps"]

Map = NDArray[np.float32]
Mask = NDArray[np.bool_]

SCALES_MM = (1.1, 1.5, 2.1, 3.0, 4.2, 6.0, 8.4)
PIXELS_PER_SIGMA = 2.0
NEIGHBOURHOOD_MM = 15.0
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the pyramid: image, region of interest as 0 or 1, and the side of a pixel."""

    image: Map
    region: Map
    mm_per_px: float


@dataclass(frozen=True, eq=False)
class Scale:
    """Curvatures at one scale.

    Parameters
    ----------
    sigma_mm
        Scale.
    level
        Level of the pyramid it was computed on.
    smaller, larger
        k1 and k2 in units of the normalized image; k1 below 0 is set to 0.
    neighbourhood
        Mean of k1 over the region of interest, weighted by a Gaussian of `NEIGHBOURHOOD_MM`.
    mean
        Mean of k1 over the whole region of interest.
    """

    sigma_mm: float
    level: Level
    smaller: Map
    larger: Map
    neighbourhood: Map
    mean: float


def pyramid(image: Map, region: Mask, mm_per_px: float) -> list[Level]:
    """Levels, each half as fine as the one before, as far as the scales need them.

    Pixels are averaged two by two. The image is first continued to the right and below to a whole number of
    pixels of the coarsest level.
    """
    depth = max(int(np.log2(SCALES_MM[-1] / PIXELS_PER_SIGMA / mm_per_px)), 0)
    rows, columns = (-size % 2**depth for size in image.shape)
    continued = cv2.copyMakeBorder(image, 0, rows, 0, columns, cv2.BORDER_REPLICATE)
    levels = [Level(continued, np.pad(region, ((0, rows), (0, columns))).astype(np.float32), mm_per_px)]
    for _ in range(depth):
        last = levels[-1]
        levels.append(Level(halved(last.image), halved(last.region), 2 * last.mm_per_px))
    return levels


def halved(image: Map) -> Map:
    """Mean of every two by two pixels."""
    rows, columns = image.shape
    smaller: Map = cv2.resize(image, (columns // 2, rows // 2), interpolation=cv2.INTER_AREA)
    return smaller


def scale_maps(levels: list[Level]) -> list[Scale]:
    """Curvature maps of every scale."""
    return [curvature(fitting_level(levels, sigma), sigma) for sigma in SCALES_MM]


def fitting_level(levels: list[Level], sigma_mm: float) -> Level:
    """Coarsest level that still resolves a scale."""
    fitting = [level for level in levels if level.mm_per_px * PIXELS_PER_SIGMA <= sigma_mm]
    return fitting[-1] if fitting else levels[0]


def curvature(level: Level, sigma_mm: float) -> Scale:
    """k1 and k2 of one scale, and how large k1 is around each place."""
    smooth = reflecting_blur(level.image, sigma_mm / level.mm_per_px)
    unit = (sigma_mm / level.mm_per_px) ** 2 / 4
    xx, yy, xy = (
        cv2.Sobel(smooth, cv2.CV_32F, dx, dy, scale=-unit, borderType=cv2.BORDER_REPLICATE)
        for dx, dy in ((2, 0), (0, 2), (1, 1))
    )
    mean, half = (xx + yy) / 2, cv2.magnitude((xx - yy) / 2, xy)
    smaller: Map = np.maximum(mean - half, 0)
    return Scale(sigma_mm, level, smaller, mean + half, *means_in(smaller, level))


def means_in(response: Map, level: Level) -> tuple[Map, float]:
    """Local and overall mean of a response in the region of interest."""
    inside = response * level.region
    # A quarter of the resolution is plenty for a mean over 15 mm.
    rows, columns = response.shape
    size = max(columns // 4, 1), max(rows // 4, 1)
    total, share = (cv2.resize(array, size, interpolation=cv2.INTER_AREA) for array in (inside, level.region))
    sigma = NEIGHBOURHOOD_MM / level.mm_per_px / 4
    local = reflecting_blur(total, sigma) / np.maximum(reflecting_blur(share, sigma), LEAST_SHARE)
    overall = float(inside.sum(dtype=np.float64)) / max(float(level.region.sum(dtype=np.float64)), 1.0)
    return cv2.resize(local, (columns, rows), interpolation=cv2.INTER_LINEAR), overall


def reflecting_blur(image: Map, sigma_px: float) -> Map:
    """Gaussian blur, reflected at the border."""
    return blur(image, sigma_px, border=cv2.BORDER_REFLECT)
