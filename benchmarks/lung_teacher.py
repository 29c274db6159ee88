"""Lung masks by rule: the teacher of the lung model. Good where it answers, silent where it is not sure.

A dark region of a thresholded radiograph is a lung if it is as large, as tall and as compact as a lung and does
not reach the border. Of all thresholds the one with the sharpest outline wins.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from overread.domains.chest._lungs import COARSE_MM, blur_mm
from overread.features import Map

AREA_MM2 = (7_000.0, 36_000.0)
HEIGHT_MM = (140.0, 330.0)
WIDTH_MM = (70.0, 180.0)
LEAST_SOLIDITY = 0.82
QUANTILES = np.arange(8, 62, 3)
CLOSING_MM = 20.0


def teach(image: Map) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Left and right lung of a coarse image, or None where the rule is not sure of both."""
    smooth = blur_mm(image, 3.0)
    edges = np.hypot(cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1))
    best: list[tuple[float, NDArray[np.bool_]] | None] = [None, None]
    for level in (smooth, smooth - 0.5 * blur_mm(image, 60.0)):
        for quantile in QUANTILES:
            for side, mask in regions(level < np.percentile(level, quantile)):
                score = quality(mask, edges)
                held = best[side]
                if score and (held is None or score > held[0]):
                    best[side] = score, mask
    left, right = best
    if left is None or right is None or not alike(left[1], right[1]):
        return None
    return closed(left[1]), closed(right[1])


def regions(dark: NDArray[np.bool_]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Dark regions of the size of a lung that do not reach the border, with their side."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
    opened = cv2.morphologyEx(dark.astype(np.uint8), cv2.MORPH_OPEN, kernel)
    n, labels, boxes, centres = cv2.connectedComponentsWithStats(opened, connectivity=4)
    rows, columns = dark.shape
    found = []
    for k in range(1, n):
        x, y, width, height, area = (int(v) for v in boxes[k])
        inside = x > 1 and x + width < columns - 1 and y > 0 and y + height < rows - 1
        sized = (
            AREA_MM2[0] <= area * COARSE_MM**2 <= AREA_MM2[1]
            and HEIGHT_MM[0] <= height * COARSE_MM <= HEIGHT_MM[1]
            and WIDTH_MM[0] <= width * COARSE_MM <= WIDTH_MM[1]
        )
        side = int(centres[k][0] >= columns / 2)
        crosses = x < 0.38 * columns if side else x + width > 0.62 * columns
        if inside and sized and not crosses:
            found.append((side, ndimage.binary_fill_holes(labels == k)))
    return found


def quality(mask: NDArray[np.bool_], edges: Map) -> float:
    """Median gradient along the outline x solidity x root of the area; 0 for a ragged region."""
    outline = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0][0]
    solidity = mask.sum() / cv2.contourArea(cv2.convexHull(outline))
    if solidity < LEAST_SOLIDITY:
        return 0.0
    return float(np.median(edges[outline[:, 0, 1], outline[:, 0, 0]]) * solidity * np.sqrt(mask.sum()))


def alike(left: NDArray[np.bool_], right: NDArray[np.bool_]) -> bool:
    """Whether two lungs have about the same area and the same top."""
    ratio = left.sum() / right.sum()
    tops = abs(int(np.argmax(left.any(axis=1))) - int(np.argmax(right.any(axis=1)))) * COARSE_MM
    return bool(0.6 < ratio < 1.8 and tops < 30)


def closed(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Dents narrower than `CLOSING_MM` filled: ribs and vessels at the edge."""
    size = 2 * round(CLOSING_MM / COARSE_MM / 2) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    padded = np.pad(mask.astype(np.uint8), size)
    filled = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, kernel)[size:-size, size:-size]
    return np.asarray(filled > 0)
