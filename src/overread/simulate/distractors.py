"""Distractors: places of the clean image that readers share a weakness for."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["Blob", "strongest_blobs"]

# Spots of 7 to 20 mm (2 sqrt(2) s); chosen by eye.
SCALES_MM = (2.5, 3.5, 5.0, 7.0)
APART_MM = 8.0


@dataclass(frozen=True)
class Blob:
    """A bright spot: its place, the diameter of the disc that its scale fits, its response."""

    x_mm: float
    y_mm: float
    diameter_mm: float
    response: float


def strongest_blobs(
    pixels: NDArray[np.floating], lungs: NDArray[np.bool_], mm_per_px: float, *, n: int = 15
) -> list[Blob]:
    """Find the strongest maxima of -s^2 LoG(s) over scales in the lung, at least 8 mm apart; diameter 2 sqrt(2) s."""
    values = np.asarray(pixels, dtype=np.float32)
    stack = np.stack([-((s / mm_per_px) ** 2) * laplacian(values, s / mm_per_px) for s in SCALES_MM])
    best = np.where(lungs, stack.max(axis=0), np.float32(0.0))
    peak = (best == cv2.dilate(best, np.ones((5, 5), np.uint8))) & (best > 0)
    rows, columns = np.nonzero(peak)
    order = np.argsort(-best[rows, columns], kind="stable")
    kept: list[Blob] = []
    for i in order:
        row, column = int(rows[i]), int(columns[i])
        x, y = (column + 0.5) * mm_per_px, (row + 0.5) * mm_per_px
        if all(np.hypot(x - b.x_mm, y - b.y_mm) >= APART_MM for b in kept):
            scale = SCALES_MM[int(stack[:, row, column].argmax())]
            kept.append(Blob(x, y, 2 * np.sqrt(2) * scale, float(best[row, column])))
        if len(kept) == n:
            break
    return kept


def laplacian(values: NDArray[np.float32], sigma_px: float) -> NDArray[np.float32]:
    """Laplacian of the image smoothed by a Gaussian."""
    smooth = cv2.GaussianBlur(values, (0, 0), sigma_px, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.Laplacian(smooth, cv2.CV_32F, borderType=cv2.BORDER_REPLICATE))
