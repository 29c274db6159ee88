"""Curvature of the brightness at several scales: blobs are curved in every direction, ribs and vessels in one.

At scale sigma the image is smoothed by a Gaussian, and k1 <= k2 are the eigenvalues of minus sigma^2 times the
Hessian. A bright blob has k1 > 0. On a ridge k1 is near 0 however bright it is, which suppresses ribs. Scales are
computed on the coarsest level of a pyramid whose pixels are at most sigma / 2.

Where candidates are sought: the lung fields and a little around them.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.domains._scale_space import SCALES_MM, Level, blur_reflecting, choose_level, second_derivatives
from overread.domains.chest._lungs import (
    COARSE_MM,
    LungFields,
    enlarge_mask,
    find_lungs,
    make_disc,
    reflect_lung,
)
from overread.features import Anatomy, Map, Mask, Quality
from overread.images import Radiograph, magnitude

# Width of the surroundings that a curvature is compared with, and the least share of lung that their mean is divided
# by: inputs of the shipped ranking. No measurement behind them is on record.
NEIGHBOURHOOD_MM = 15.0
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Scale:
    """Curvatures at one scale."""

    sigma_mm: float
    level: Level
    smaller: Map  # k1 of the normalized image; below 0 it is set to 0
    larger: Map  # k2
    neighbourhood: Map  # mean of k1 in the region, weighted by a Gaussian of NEIGHBOURHOOD_MM
    mean: float  # of k1 over the whole region


def measure_scales(levels: list[Level]) -> list[Scale]:
    """Curvature maps of every scale."""
    return [_measure_curvature(choose_level(levels, sigma), sigma) for sigma in SCALES_MM]


def _measure_curvature(level: Level, sigma_mm: float) -> Scale:
    """k1 and k2 of one scale, and how large k1 is around each place."""
    smooth = blur_reflecting(level.image, sigma_mm / level.mm_per_px)
    unit = (sigma_mm / level.mm_per_px) ** 2 / 4
    xx, yy, xy = second_derivatives(smooth, -unit)
    mean, half = (xx + yy) / 2, magnitude((xx - yy) / 2, xy)
    smaller: Map = np.maximum(mean - half, 0)
    return Scale(sigma_mm, level, smaller, mean + half, *_average_in_region(smaller, level))


def _average_in_region(response: Map, level: Level) -> tuple[Map, float]:
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


# Chosen by the recall of the default finder on nih-240x3 (docs/reference/candidates.md).
DENT_MM = 40.0
MARGIN_MM = 2.0


def search_region(radiograph: Radiograph, anatomy: Anatomy | None) -> Mask:
    """Lung fields with dents narrower than `DENT_MM` filled, widened by `MARGIN_MM`, without padding.

    A bright nodule at the border of a lung makes a dent in its field; it must not hide itself. A doubtful lung may
    be half of one: the mirror image of the other lung is searched as well.

    Parameters
    ----------
    radiograph : Radiograph
        The image.
    anatomy : Anatomy
        Its anatomy, if it is known; else the lung fields are found here.
    """
    if anatomy is None:
        fields = find_lungs(radiograph)
    else:
        qualities = anatomy.quality["left_lung"], anatomy.quality["right_lung"]
        fields = LungFields(anatomy.left_lung, anatomy.right_lung, *qualities)
    filled = _fill_dents(fields, radiograph.mm_per_px)
    kernel = make_disc(2 * round(MARGIN_MM / radiograph.mm_per_px) + 1)
    return np.asarray((cv2.dilate(filled.astype(np.uint8), kernel) > 0) & radiograph.valid)


def fill_padding(radiograph: Radiograph) -> Map:
    """Pixels of a radiograph with padding set to 0, the 1st percentile of the image."""
    return np.where(radiograph.valid, radiograph.pixels, np.float32(0)).astype(np.float32)


def lies_on_image(
    radiograph: Radiograph, x_mm: NDArray[np.float64], y_mm: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which points lie in the image, and not in padding or outside."""
    rows, columns = radiograph.shape
    row, column = ((length / radiograph.mm_per_px).astype(np.intp) for length in (y_mm, x_mm))
    inside = (row < rows) & (column < columns)
    valid = radiograph.valid[np.minimum(row, rows - 1), np.minimum(column, columns - 1)]
    return np.asarray(inside & valid)


def _fill_dents(fields: LungFields, mm_per_px: float) -> Mask:
    """Close the lungs by a disc of `DENT_MM`, on a coarse grid; never less than the lungs themselves."""
    rows, columns = fields.left.shape
    scale = mm_per_px / COARSE_MM
    size = max(round(columns * scale), 1), max(round(rows * scale), 1)
    left, right = (
        cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0.5
        for mask in (fields.left, fields.right)
    )
    coarse = left | right
    if fields.left_quality is Quality.DOUBTFUL and right.any():
        coarse |= reflect_lung(right[:, ::-1])[:, ::-1]
    if fields.right_quality is Quality.DOUBTFUL and left.any():
        coarse |= reflect_lung(left)
    width = 2 * round(DENT_MM / COARSE_MM / 2) + 1
    closed = cv2.morphologyEx(np.pad(coarse.astype(np.uint8), width), cv2.MORPH_CLOSE, make_disc(width))
    return enlarge_mask(closed[width:-width, width:-width] > 0, (columns, rows)) | fields.left | fields.right
