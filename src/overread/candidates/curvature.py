"""Curvature of the brightness at several scales: blobs are curved in every direction, ribs and vessels in one.

At scale sigma the image is smoothed by a Gaussian, and k1 <= k2 are the eigenvalues of minus sigma^2 times the
Hessian. A bright blob has k1 > 0. On a ridge k1 is near 0 however bright it is, which suppresses ribs. Scales are
computed on the coarsest level of a pyramid whose pixels are at most sigma / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from overread.anatomy.filters import magnitude
from overread.anatomy.structures import Map
from overread.candidates.pyramid import SCALES_MM, Level, blur_reflecting, choose_level

__all__ = ["Scale", "measure_scales"]

# Width of the surroundings that a curvature is compared with, and the least share of lung that their mean is divided
# by: inputs of the shipped ranking. No measurement behind them is on record.
NEIGHBOURHOOD_MM = 15.0
LEAST_SHARE = 0.05


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


def measure_scales(levels: list[Level]) -> list[Scale]:
    """Curvature maps of every scale."""
    return [measure_curvature(choose_level(levels, sigma), sigma) for sigma in SCALES_MM]


def measure_curvature(level: Level, sigma_mm: float) -> Scale:
    """k1 and k2 of one scale, and how large k1 is around each place."""
    smooth = blur_reflecting(level.image, sigma_mm / level.mm_per_px)
    unit = (sigma_mm / level.mm_per_px) ** 2 / 4
    xx, yy, xy = (
        cv2.Sobel(smooth, cv2.CV_32F, dx, dy, scale=-unit, borderType=cv2.BORDER_REPLICATE)
        for dx, dy in ((2, 0), (0, 2), (1, 1))
    )
    mean, half = (xx + yy) / 2, magnitude((xx - yy) / 2, xy)
    smaller: Map = np.maximum(mean - half, 0)
    return Scale(sigma_mm, level, smaller, mean + half, *average_in_region(smaller, level))


def average_in_region(response: Map, level: Level) -> tuple[Map, float]:
    """Local and overall mean of a response in the region of interest."""
    inside = response * level.region
    # A quarter of the resolution is plenty for a mean over 15 mm.
    rows, columns = response.shape
    size = max(columns // 4, 1), max(rows // 4, 1)
    total, share = (cv2.resize(array, size, interpolation=cv2.INTER_AREA) for array in (inside, level.region))
    sigma = NEIGHBOURHOOD_MM / level.mm_per_px / 4
    local = blur_reflecting(total, sigma) / np.maximum(blur_reflecting(share, sigma), LEAST_SHARE)
    overall = float(inside.sum(dtype=np.float64)) / max(float(level.region.sum(dtype=np.float64)), 1.0)
    return cv2.resize(local, (columns, rows), interpolation=cv2.INTER_LINEAR), overall
