"""What is on the plate besides the patient: the edge of the collimator and the letter that tells the side."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.streams import stream

__all__ = ["Collimation", "collimate", "side_marker"]

Floats = NDArray[np.float32]

COLLIMATED_SHARE = 0.22
BLACKENED_SHARE = 0.6
PENUMBRA_MM = 1.2


@dataclass(frozen=True, eq=False)
class Collimation:
    """Share of the beam let through, 0 to 1, and whether the processing paints the rest black."""

    open: Floats
    blackened: bool

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Where the whole beam comes through."""
        return self.open == 1


def collimate(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Collimation:
    """Close the collimator at some edges by 2 to 14 mm; in most exposures the whole plate is open."""
    rng = stream(seed, "collimator")
    opened = np.ones(shape, dtype=np.float32)
    collimated, blackened = rng.random() < COLLIMATED_SHARE, bool(rng.random() < BLACKENED_SHARE)
    slant = rng.normal(0, 0.006)
    insets = (rng.uniform(2, 14, 4) * (rng.random(4) < 0.5)).tolist()
    if not collimated:
        return Collimation(opened, blackened)
    y = (np.arange(shape[0], dtype=np.float32) * np.float32(mm_per_px))[:, None]
    x = (np.arange(shape[1], dtype=np.float32) * np.float32(mm_per_px))[None, :]
    for inset, distance in zip(insets, (x, x[0, -1] - x, y, y[-1, 0] - y), strict=True):
        if inset > 0:
            inwards = distance + slant * (y if distance.shape[0] == 1 else x) - inset
            opened *= np.clip(inwards / PENUMBRA_MM + 0.5, 0, 1)
    return Collimation(opened, blackened)


def side_marker(shape: tuple[int, int], mm_per_px: float, *, seed: int) -> Floats:
    """Lead letter L on the image's right, 0 to 1; some have a ring below it, some radiographs have none."""
    rng = stream(seed, "marker")
    plate = np.zeros(shape, dtype=np.uint8)
    if rng.random() < 0.75:
        size = rng.uniform(9, 15) / mm_per_px
        thickness = max(1, round(rng.uniform(1.4, 2.4) / mm_per_px))
        corner = np.array(
            [shape[1] - rng.uniform(18, 42) / mm_per_px, rng.uniform(14, 50) / mm_per_px + size]
        )
        turn = np.radians(rng.normal(0, 10))
        letter = np.array([[0, -size], [0, 0], [0.6 * size, 0]])
        letter = letter @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        stroke = [np.rint((letter + corner) * 16).astype(np.int32)]
        cv2.polylines(
            plate, stroke, isClosed=False, color=255, thickness=thickness, lineType=cv2.LINE_AA, shift=4
        )
        if rng.random() < 0.4:
            x, y = np.rint((corner + np.array([0.3, 0.9]) * size) * 16).astype(int)
            cv2.circle(plate, (int(x), int(y)), round(4 * size), 255, thickness, cv2.LINE_AA, 4)
    return np.divide(plate, 255, dtype=np.float32)
