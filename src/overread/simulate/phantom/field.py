"""What is on the plate besides the patient: the edge of the collimator and the letter that tells the side."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.streams import stream

__all__ = ["open_field", "side_marker"]

Floats = NDArray[np.float32]

SHUTTER_BLUR_MM = 1.2


def open_field(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Floats:
    """Share of the beam that the collimator lets through, 0 to 1; in most exposures the whole plate is open."""
    rng = stream(seed, "collimator")
    height, width = shape
    field = np.ones(shape, dtype=np.float32)
    if rng.random() > 0.3:
        return field
    y, x = (np.arange(n, dtype=np.float32) * np.float32(mm_per_px) for n in shape)
    slant = np.float32(rng.normal(0, 0.006))
    edges = rng.uniform(2, 14, 4) * (rng.random(4) < 0.5)
    for distance, inset in (
        (x[None, :] + slant * y[:, None], edges[0]),
        (x[-1] - x[None, :] + slant * y[:, None], edges[1]),
        (y[:, None] + slant * x[None, :], edges[2]),
        (y[-1] - y[:, None] + slant * x[None, :], edges[3]),
    ):
        if inset > 0:
            field *= np.clip((distance - np.float32(inset)) / np.float32(SHUTTER_BLUR_MM) + np.float32(0.5), 0, 1)
    return field


def side_marker(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Floats:
    """Lead letter L on the image's right, 0 to 1; absent on some."""
    rng = stream(seed, "marker")
    marker = np.zeros(shape, dtype=np.uint8)
    if rng.random() < 0.25:
        return marker.astype(np.float32)
    height, width = shape
    size = rng.uniform(9, 15) / mm_per_px
    column, row = width - rng.uniform(18, 42) / mm_per_px, rng.uniform(14, 50) / mm_per_px
    angle = np.radians(rng.normal(0, 10))
    corners = np.array([[0, -size], [0, 0], [0.6 * size, 0]])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    stroke = np.rint((corners @ turn + [column, row + size]) * 16).astype(np.int32)
    thickness = max(1, round(rng.uniform(1.4, 2.4) / mm_per_px))
    cv2.polylines(marker, [stroke], isClosed=False, color=255, thickness=thickness, lineType=cv2.LINE_AA, shift=4)
    if rng.random() < 0.4:
        centre = np.rint(np.array([column + 0.3 * size, row + 1.9 * size]) * 16).astype(int)
        cv2.circle(marker, (int(centre[0]), int(centre[1])), round(4 * size), 255, thickness, cv2.LINE_AA, 4)
    return marker.astype(np.float32) / np.float32(255)
