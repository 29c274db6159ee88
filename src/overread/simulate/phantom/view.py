"""From points of the patient to pixels and back: point source, flat detector, a patient not quite straight.

Whole images are worked on band by band of rows, so that what is computed on the way stays in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.patient import Patient, stream

__all__ = ["SOURCE_TO_DETECTOR_MM", "Projected", "View", "by_bands", "make_view", "row_bands"]

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
Points = NDArray[np.float64]
Scalar = TypeVar("Scalar", bound=np.floating)

# 128 KB of float32 a map: several maps fit into a processor's second cache.
BAND_PIXELS = 32768
# The usual distance of a chest radiograph.
SOURCE_TO_DETECTOR_MM = 1800.0
DETECTOR_Z_MM = -150.0
CENTRE_Y_MM = 128.0
BENDS = 5
UNBEND_ROUNDS = 5


def row_bands(shape: tuple[int, ...]) -> list[slice]:
    """Bands of rows that cover an image."""
    n_rows = max(1, BAND_PIXELS // max(1, shape[1]))
    return [slice(start, start + n_rows) for start in range(0, shape[0], n_rows)]


def by_bands(pointwise: Callable[..., NDArray[np.floating]], *images: Floats) -> Floats:
    """Apply to images of one shape a function that treats every pixel by itself."""
    out = np.empty(images[0].shape, dtype=np.float32)
    for rows in row_bands(out.shape):
        out[rows] = pointwise(*(image[rows] for image in images))
    return out


@dataclass(frozen=True, eq=False)
class Projected:
    """Where points fall, in pixels with centres at whole numbers, and how much they are magnified."""

    columns: Points
    rows: Points
    px_per_mm: Points


@dataclass(frozen=True, eq=False)
class View:
    """The geometry of one exposure.

    Patient coordinates in mm, for a patient of size 1: x to the image's right (the patient's left), y down from
    the first thoracic vertebra, z from the middle of the chest to the back. The source is behind the patient.
    A point at depth z is magnified by M = S / (S - (z - z_detector)).
    The wave of ``bends`` moves the whole picture smoothly by a few mm, so that no two patients are similar
    figures of each other.
    ``centre_mm`` is the patient's x and y at the middle of the image.
    """

    shape: tuple[int, int]
    mm_per_px: float
    size: float
    centre_mm: tuple[float, float]
    yaw: float
    roll: float
    tilt: float
    bends: Points

    def magnification(self, z: Points | float) -> Points:
        """Size on the detector over size in the patient of scale 1."""
        distance = np.asarray(z, dtype=np.float64) * self.size - DETECTOR_Z_MM
        return self.size * SOURCE_TO_DETECTOR_MM / (SOURCE_TO_DETECTOR_MM - distance)

    def bend(self, u: NDArray[Scalar], v: NDArray[Scalar]) -> tuple[NDArray[Scalar], NDArray[Scalar]]:
        """Shift in mm at positions from the image's centre."""
        du, dv = np.zeros_like(u), np.zeros_like(v)
        for wave in self.bends.astype(u.dtype):
            height = np.sin(wave[0] * u + wave[1] * v + wave[2])
            du += wave[3] * height
            dv += wave[4] * height
        return du, dv

    @cached_property
    def _plane(self) -> tuple[Floats, Floats]:
        """Positions on the detector, straightened: mm from the centre of the image."""
        height, width = self.shape
        u = ((np.arange(width) - (width - 1) / 2)[None, :] * self.mm_per_px).astype(np.float32)
        v = ((np.arange(height) - (height - 1) / 2)[:, None] * self.mm_per_px).astype(np.float32)
        c, s = math.cos(self.roll), math.sin(self.roll)
        plane_u, plane_v = np.empty(self.shape, np.float32), np.empty(self.shape, np.float32)
        for rows in row_bands(self.shape):
            straight_u, straight_v = c * u + s * v[rows], c * v[rows] - s * u
            du, dv = self.bend(straight_u, straight_v)
            plane_u[rows], plane_v[rows] = straight_u + du, straight_v + dv
        return plane_u, plane_v

    @cached_property
    def scratch(self) -> tuple[Floats, Floats, Bytes, Bytes]:
        """Room in which every `Canvas` draws its tubes: distance (2 between drawings), depth, part, unread marks."""
        distance, depth = np.full(self.shape, 2, dtype=np.float32), np.empty(self.shape, dtype=np.float32)
        part, unread = np.empty(self.shape, dtype=np.uint8), np.zeros(self.shape, dtype=np.uint8)
        return distance, depth, part, unread

    def at(self, z: float) -> tuple[Floats, Floats]:
        """Patient coordinates x, y of every pixel on the plane at depth z."""
        u, v = self._plane
        m = float(self.magnification(z))
        x = (u / m + (self.centre_mm[0] - z * math.sin(self.yaw))) / math.cos(self.yaw)
        y = v / m + (self.centre_mm[1] - z * math.tan(self.tilt))
        return x, y

    def _unbend(self, u: Points, v: Points) -> tuple[Points, Points]:
        """Positions that `bend` moves to the given ones, by fixed-point iteration: it moves little and smoothly."""
        before_u, before_v = u, v
        for _ in range(UNBEND_ROUNDS):
            du, dv = self.bend(before_u, before_v)
            before_u, before_v = u - du, v - dv
        return before_u, before_v

    def project(self, x: Points, y: Points, z: Points) -> Projected:
        """Pixels of points."""
        m = self.magnification(z)
        u = m * (x * math.cos(self.yaw) + z * math.sin(self.yaw) - self.centre_mm[0])
        v = m * (y - self.centre_mm[1] + z * math.tan(self.tilt))
        u, v = self._unbend(u, v)
        c, s = math.cos(self.roll), math.sin(self.roll)
        height, width = self.shape
        columns = (c * u - s * v) / self.mm_per_px + (width - 1) / 2
        rows = (s * u + c * v) / self.mm_per_px + (height - 1) / 2
        return Projected(columns, rows, m / self.mm_per_px)


def make_view(patient: Patient, *, seed: int, shape: tuple[int, int], mm_per_px: float) -> View:
    """Set up the exposure of a patient."""
    rng = stream(seed, "view")
    wavelength = rng.uniform(150, 450, BENDS)
    direction = rng.uniform(0, 2 * np.pi, BENDS)
    k = 2 * np.pi / wavelength
    bends = np.column_stack(
        [
            k * np.cos(direction),
            k * np.sin(direction),
            rng.uniform(0, 2 * np.pi, BENDS),
            rng.normal(0, 1.3, BENDS),
            rng.normal(0, 1.3, BENDS),
        ]
    )
    return View(
        shape=shape,
        mm_per_px=mm_per_px,
        size=patient.size,
        centre_mm=(-patient.position_mm[0], CENTRE_Y_MM - patient.position_mm[1]),
        yaw=math.radians(patient.rotation_deg),
        roll=math.radians(patient.roll_deg),
        tilt=math.radians(patient.tilt_deg),
        bends=bends,
    )
