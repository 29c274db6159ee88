"""Who is on the radiograph: the numbers that differ between patients and exposures, and what they are drawn from.

From points of the patient to pixels and back: point source, flat detector, a patient not quite straight.

Whole images are worked on band by band of rows, so that what is computed on the way stays in the processor's cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

FILMS_MM = ((350.0, 427.0), (427.0, 427.0), (427.0, 350.0))


def stream(seed: int, part: str) -> np.random.Generator:
    """Give one part its generator: a further draw in one part leaves all others as they were."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, crc32(part.encode())])))


class Sex(StrEnum):
    """Sex, as far as the shape of a thorax goes."""

    FEMALE = "F"
    MALE = "M"


@dataclass(frozen=True)
class Patient:
    """Anatomy, position and exposure of one phantom."""

    sex: Sex  # Shapes breasts, size and soft tissue
    age_years: float  # Old patients have more calcification and a wider aorta
    size: float  # Scale of the skeleton; 1.03 is a man of mean height, 0.94 such a woman
    width: float  # Width of the rib cage relative to its height, 1 in the mean
    fat_mm: float  # Thickness of the soft tissue outside the ribs at the side of the chest
    rotation_deg: float  # Turn about the long axis; it shifts what lies in front against what lies behind
    roll_deg: float  # Lean in the plane of the image
    tilt_deg: float  # Lordotic lean: raises what lies in front
    inspiration: float  # 0 shallow, 1 deep: the level of the diaphragm and the slope of the ribs
    heart_ratio: float  # Width of the heart over the inner width of the thorax
    clavicle_angle_deg: float  # Rise of the clavicles from the breastbone outwards
    scapula_mm: float  # How far the shoulder blades are turned out of the lungs
    breast_mm: float  # Thickness of a breast at its thickest; 0 in men
    quanta: float  # Mean number of quanta a square mm where nothing absorbs: the exposure
    bone_contrast: float  # Absorption of bone relative to 1 at the middle of the tube voltages in use
    scatter_ratio: float  # Scattered over primary radiation behind the mean of the thorax
    contrast: float  # Slope of the tone curve, 1 in the mean
    brightness: float  # Offset of the tone curve
    compression: float  # Share of the large-scale contrast that the processing takes away
    sharpening: float  # Share of the fine detail that the processing adds
    film_mm: tuple[float, float]  # Width and height of the field
    # How far the patient stands from the middle of the field, to the image's right and down.
    position_mm: tuple[float, float]


def draw_patient(seed: int) -> Patient:
    """Draw a patient and an exposure; a seed gives always the same."""
    rng = stream(seed, "patient")

    def normal(mean: float, sd: float, low: float, high: float) -> float:
        return float(np.clip(rng.normal(mean, sd), low, high))

    female = bool(rng.random() < 0.45)
    return Patient(
        sex=Sex.FEMALE if female else Sex.MALE,
        age_years=normal(53, 16, 18, 90),
        size=normal(0.94 if female else 1.03, 0.045, 0.82, 1.15),
        width=normal(1.0, 0.05, 0.88, 1.14),
        fat_mm=float(np.clip(rng.lognormal(np.log(17), 0.45), 6, 55)),
        rotation_deg=normal(0, 2.2, -6, 6),
        roll_deg=normal(0, 1.2, -3.5, 3.5),
        tilt_deg=normal(0, 3.0, -8, 8),
        inspiration=float(rng.beta(3.0, 1.8)),
        heart_ratio=normal(0.46, 0.04, 0.37, 0.58),
        clavicle_angle_deg=normal(10, 6, -6, 26),
        scapula_mm=normal(4, 9, -16, 24),
        breast_mm=float(np.clip(rng.lognormal(np.log(38), 0.45), 12, 85)) if female else 0.0,
        quanta=float(np.exp(rng.uniform(np.log(2e5), np.log(1.6e6)))),
        bone_contrast=normal(1.0, 0.12, 0.7, 1.35),
        scatter_ratio=normal(0.8, 0.2, 0.35, 1.3),
        contrast=normal(1.0, 0.16, 0.6, 1.4),
        brightness=normal(0.0, 0.05, -0.12, 0.12),
        compression=float(rng.uniform(0.1, 0.45)),
        sharpening=float(rng.uniform(0.0, 0.6)),
        film_mm=FILMS_MM[int(rng.choice(3, p=(0.55, 0.27, 0.18)))],
        position_mm=(normal(0, 6, -15, 15), normal(0, 9, -22, 22)),
    )


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
class Projection:
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
    def scratch(self) -> tuple[Floats, Floats, Bytes]:
        """Room in which every `Canvas` draws its tubes: distance (2 between drawings), depth, part."""
        distance, depth = np.full(self.shape, 2, dtype=np.float32), np.empty(self.shape, dtype=np.float32)
        return distance, depth, np.empty(self.shape, dtype=np.uint8)

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


def make_view(patient: Patient, *, seed: int, shape: tuple[int, int], mm_per_px: float) -> Projection:
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
    return Projection(
        shape=shape,
        mm_per_px=mm_per_px,
        size=patient.size,
        centre_mm=(-patient.position_mm[0], CENTRE_Y_MM - patient.position_mm[1]),
        yaw=math.radians(patient.rotation_deg),
        roll=math.radians(patient.roll_deg),
        tilt=math.radians(patient.tilt_deg),
        bends=bends,
    )
