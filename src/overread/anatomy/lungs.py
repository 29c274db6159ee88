"""Lung fields: two masks with a quality each; a lung that is not found is replaced, never lost."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from overread.anatomy.lung_model import load_lung_model
from overread.anatomy.lung_pixels import COARSE_MM, blur_mm, coarsen
from overread.anatomy.structures import Map, Mask, Quality
from overread.images import Radiograph

__all__ = ["SMOOTHING_MM", "LungFields", "choose_lung", "enlarge_mask", "find_lungs", "reflect_lung"]

# Chosen by eye on the NIH radiographs, as all of this module: no outlines drawn by people were at hand
# (docs/reference/candidates.md says what the bounds give there).
SMOOTHING_MM = 2.5
CLOSING_MM = 20.0
# A lung is FOUND within these bounds, and FALLBACK below the least area.
SURE_AREA_MM2 = (7_000.0, 45_000.0)
LEAST_AREA_MM2 = 2_500.0
SURE_PROBABILITY = 0.85
SURE_SOLIDITY = 0.75
# Share of the image that the lungs take where neither is seen.
FALLBACK_WIDTH = 0.84
FALLBACK_HEIGHT = 0.80
# Half the width of the mediastinum, and how far a mirrored lung is widened.
MIDDLE_MM = 15.0
WIDENING_MM = 10.0


@dataclass(frozen=True, eq=False)
class LungFields:
    """Lung masks on the grid of the radiograph.

    Parameters
    ----------
    left, right
        Lungs on the left and right side of the image; they do not overlap.
    left_quality, right_quality
        FOUND: as large and compact as a lung, and the model is sure. DOUBTFUL: the best there is. FALLBACK: no
        lung was seen; the mask is that half of the thorax.
    """

    left: Mask
    right: Mask
    left_quality: Quality
    right_quality: Quality


def find_lungs(radiograph: Radiograph) -> LungFields:
    """Find both lungs."""
    image = coarsen(radiograph)
    chances = tuple(blur_mm(chance, SMOOTHING_MM) for chance in load_lung_model().probabilities(image))
    found = [choose_lung(own, other) for own, other in (chances, chances[::-1])]
    seen = [None if quality is Quality.FALLBACK else mask for mask, quality in found]
    half = guess_lungs(image.shape, seen[0], seen[1])
    left, right = (half[side] if mask is None else mask for side, mask in enumerate(seen))
    rows, columns = radiograph.shape
    left, right = (enlarge_mask(mask, (columns, rows)) & radiograph.valid for mask in (left, right))
    return LungFields(left, right & ~left, found[0][1], found[1][1])


def choose_lung(own: Map, other: Map) -> tuple[Mask, Quality]:
    """Largest region that is rather this lung than the other or no lung, and how far to trust it."""
    inside = ((own > 0.5) & (own >= other)).astype(np.uint8)
    n, labels, boxes, _ = cv2.connectedComponentsWithStats(inside, connectivity=4)
    if n == 1:
        return np.zeros(own.shape, dtype=bool), Quality.FALLBACK
    largest = int(np.argmax(boxes[1:, cv2.CC_STAT_AREA])) + 1
    mask = close_mask(labels == largest) & (own >= other)
    return mask, judge_lung(mask, own)


def judge_lung(mask: Mask, chance: Map) -> Quality:
    """Quality by area, solidity and mean probability."""
    area = float(mask.sum()) * COARSE_MM**2
    if area < LEAST_AREA_MM2:
        return Quality.FALLBACK
    sure = (
        SURE_AREA_MM2[0] <= area <= SURE_AREA_MM2[1]
        and solidity(mask) >= SURE_SOLIDITY
        and float(chance[mask].mean()) >= SURE_PROBABILITY
    )
    return Quality.FOUND if sure else Quality.DOUBTFUL


def solidity(mask: Mask) -> float:
    """Area over the area of the convex hull."""
    outlines = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    hull = cv2.contourArea(cv2.convexHull(np.vstack(outlines)))
    return float(mask.sum() / max(hull, 1.0))


def close_mask(mask: Mask) -> Mask:
    """Fill holes, and dents narrower than `CLOSING_MM`."""
    size = 2 * round(CLOSING_MM / COARSE_MM / 2) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    padded = cv2.morphologyEx(np.pad(mask.astype(np.uint8), size), cv2.MORPH_CLOSE, kernel)
    outlines = cv2.findContours(padded, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0]
    filled = cv2.drawContours(np.zeros_like(padded), outlines, -1, 1, cv2.FILLED)
    return np.asarray(filled[size:-size, size:-size] > 0)


def guess_lungs(shape: tuple[int, ...], left: Mask | None, right: Mask | None) -> tuple[Mask, Mask]:
    """Where the lungs must be: the mirror image of the lung that was found, else most of the image.

    The middle of the thorax is `MIDDLE_MM` beyond the inner edge of the found lung; a mirrored lung is widened by
    `WIDENING_MM`.
    """
    if left is not None and right is None:
        return left, reflect_lung(left)
    if right is not None and left is None:
        return reflect_lung(right[:, ::-1])[:, ::-1], right
    rows, columns = shape
    y, x = np.mgrid[:rows, :columns]
    u = (2 * x + 1 - columns) / (columns * FALLBACK_WIDTH)
    v = (2 * y + 1 - rows) / (rows * FALLBACK_HEIGHT)
    whole = u**4 + v**4 <= 1
    return whole & (2 * x + 1 <= columns), whole & (2 * x + 1 > columns)


def reflect_lung(left: Mask) -> Mask:
    """Mirror a left lung about the middle of the thorax, widened; never empty."""
    columns = np.flatnonzero(left.any(axis=0))
    wall = int(columns[-1]) + round(MIDDLE_MM / COARSE_MM)
    mirrored = np.zeros_like(left)
    rows, width = left.shape
    target = 2 * wall - np.arange(width)
    kept = (target >= 0) & (target < width)
    mirrored[:, target[kept]] = left[:, kept]
    size = 2 * round(WIDENING_MM / COARSE_MM) + 1
    wide = (
        cv2.dilate(mirrored.astype(np.uint8), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))) > 0
    )
    wide &= ~left
    if wide.sum() * COARSE_MM**2 < LEAST_AREA_MM2:
        wide = np.zeros((rows, width), dtype=bool)
        wide[:, width // 2 :] = True
        wide &= ~left
    return np.asarray(wide)


def enlarge_mask(mask: Mask, size: tuple[int, int]) -> Mask:
    """Put a mask on a finer grid (columns, rows), with a smooth outline."""
    fine = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
    return np.asarray(cv2.GaussianBlur(fine, (0, 0), 0.6 * size[0] / mask.shape[1]) > 0.5)
