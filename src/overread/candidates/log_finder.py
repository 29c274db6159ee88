"""The finder "log": maxima of the Laplacian of Gaussian, the plain blob detector to compare others with.

At scale sigma the response is -sigma^2 times the Laplacian of the image smoothed by a Gaussian of sigma (Lindeberg
1998, doi:10.1023/A:1008045108935). A Gaussian blob of width s answers with 2 sigma^2 s^2 / (s^2 + sigma^2)^2 of its
height, most at sigma = s; a disc of radius r answers most at sigma = r / sqrt(2). Ribs and vessels answer too: nothing
here tells them from nodules.
"""

from __future__ import annotations

from math import sqrt

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.anatomy import Anatomy
from overread.anatomy.structures import Map
from overread.candidates.pyramid import (
    SCALES_MM,
    Level,
    blur_reflecting,
    build_pyramid,
    choose_level,
    find_peaks,
)
from overread.candidates.search_region import fill_padding, lies_on_image, search_region
from overread.candidates.table import candidate_table
from overread.images import Radiograph

__all__ = ["BLOB_SCALES_MM", "LogFinder", "keep_apart", "measure_log"]

FloatArray = NDArray[np.float64]

# Radii of sqrt(2) sigma from 3 to 12 mm; nodules of nih-240x3 have 3 to 15 mm.
BLOB_SCALES_MM = SCALES_MM[2:]
# Enough for a limit of 100 after blobs on one place are taken once (180 to 247 were left on 15 NIH radiographs).
PEAKS_PER_SCALE = 200
# A response that counts as nothing, in units of the normalized image.
FLOOR = 1e-3


class LogFinder:
    """Local maxima of the Laplacian of Gaussian in the lung fields; of blobs on one place the strongest."""

    name = "log"
    version = "1"

    def __call__(self, radiograph: Radiograph, anatomy: Anatomy | None, *, limit: int) -> pd.DataFrame:
        """Find candidates; the response is the Laplacian in units of the normalized image."""
        region = search_region(radiograph, anatomy)
        levels = build_pyramid(fill_padding(radiograph), region, radiograph.mm_per_px)
        parts = [find_blobs(choose_level(levels, sigma), sigma) for sigma in BLOB_SCALES_MM]
        x_mm, y_mm, radius_mm, response = np.concatenate(parts, axis=1)
        inside = np.flatnonzero(lies_on_image(radiograph, x_mm, y_mm))
        order = inside[np.argsort(-response[inside], kind="stable")]
        kept = keep_apart(x_mm, y_mm, radius_mm, order, limit)
        return candidate_table(x_mm[kept], y_mm[kept], radius_mm[kept], response[kept])


def find_blobs(level: Level, sigma_mm: float) -> FloatArray:
    """Rows of x, y, radius and response of the blobs of one scale."""
    strength = measure_log(level.image, sigma_mm / level.mm_per_px)
    where = (level.region > 0.5) & (strength > FLOOR)
    row, column = find_peaks(strength, where, limit=PEAKS_PER_SCALE)
    x_mm, y_mm = ((index + 0.5) * level.mm_per_px for index in (column, row))
    return np.stack([x_mm, y_mm, np.full(len(row), sqrt(2) * sigma_mm), strength[row, column]])


def measure_log(image: Map, sigma_px: float) -> Map:
    """Minus sigma^2 times the Laplacian of the smoothed image."""
    smooth = blur_reflecting(image, sigma_px)
    answer: Map = cv2.Laplacian(
        smooth, cv2.CV_32F, scale=-sigma_px * sigma_px, borderType=cv2.BORDER_REPLICATE
    )
    return answer


def keep_apart(
    x_mm: FloatArray, y_mm: FloatArray, radius_mm: FloatArray, order: NDArray[np.intp], limit: int
) -> NDArray[np.intp]:
    """Of blobs in this order, those whose centre is in no earlier one and that have no earlier centre in them."""
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best, rest = order[0], order[1:]
        kept.append(int(best))
        distance = np.hypot(x_mm[rest] - x_mm[best], y_mm[rest] - y_mm[best])
        order = rest[distance >= np.maximum(radius_mm[rest], radius_mm[best])]
    return np.asarray(kept, dtype=np.intp)
