"""A pyramid of one radiograph: large scales are computed on coarse levels, which is as good and far faster."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.anatomy.filters import blur
from overread.anatomy.structures import Map, Mask

__all__ = ["SCALES_MM", "Level", "blur_reflecting", "build_pyramid", "choose_level", "find_peaks"]

# Steps of about the root of 2, for radii (2.4 sigma, `surroundings`) of 2.6 to 20 mm; nodules of nih-240x3 have 3 to
# 15 mm. They are inputs of the shipped ranking: none may change without `benchmarks.train_ranking` run anew.
SCALES_MM = (1.1, 1.5, 2.1, 3.0, 4.2, 6.0, 8.4)
PIXELS_PER_SIGMA = 2.0


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the pyramid: image, region of interest as 0 or 1, and the side of a pixel."""

    image: Map
    region: Map
    mm_per_px: float


def build_pyramid(image: Map, region: Mask, mm_per_px: float) -> list[Level]:
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
        levels.append(Level(halve(last.image), halve(last.region), 2 * last.mm_per_px))
    return levels


def halve(image: Map) -> Map:
    """Average every two by two pixels."""
    rows, columns = image.shape
    smaller: Map = cv2.resize(image, (columns // 2, rows // 2), interpolation=cv2.INTER_AREA)
    return smaller


def choose_level(levels: list[Level], sigma_mm: float) -> Level:
    """Coarsest level whose pixels are at most sigma / `PIXELS_PER_SIGMA`; the finest where none is."""
    fitting = [level for level in levels if level.mm_per_px * PIXELS_PER_SIGMA <= sigma_mm]
    return fitting[-1] if fitting else levels[0]


def blur_reflecting(image: Map, sigma_px: float) -> Map:
    """Gaussian blur, reflected at the border."""
    return blur(image, sigma_px, border=cv2.BORDER_REFLECT)


def find_peaks(strength: Map, where: Mask, *, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the largest maxima of a map among their eight neighbours, the largest first.

    Parameters
    ----------
    strength
        The map.
    where
        False where no peak counts.
    limit
        Most peaks to return.
    """
    highest = cv2.dilate(strength, np.ones((3, 3), dtype=np.uint8))
    row, column = np.nonzero((strength >= highest) & where)
    order = np.argsort(-strength[row, column], kind="stable")[:limit]
    return row[order], column[order]
