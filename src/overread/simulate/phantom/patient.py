"""Who is on the radiograph: the numbers that differ between patients and exposures, and what they are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from zlib import crc32

import numpy as np

__all__ = ["Patient", "Sex", "draw_patient", "stream"]


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
    """Anatomy, position and exposure of one phantom.

    Parameters
    ----------
    sex
        Shapes breasts, size and soft tissue.
    age_years
        Old patients have more calcification and a wider aorta.
    size
        Scale of the skeleton; 1.03 is a man of mean height, 0.94 such a woman.
    width
        Width of the rib cage relative to its height, 1 in the mean.
    fat_mm
        Thickness of the soft tissue outside the ribs at the side of the chest.
    rotation_deg
        Turn about the long axis; it shifts what lies in front against what lies behind.
    roll_deg
        Lean in the plane of the image.
    tilt_deg
        Lordotic lean: raises what lies in front.
    inspiration
        0 shallow, 1 deep: the level of the diaphragm and the slope of the ribs.
    heart_ratio
        Width of the heart over the inner width of the thorax.
    clavicle_angle_deg
        Rise of the clavicles from the breastbone outwards.
    scapula_mm
        How far the shoulder blades are turned out of the lungs.
    breast_mm
        Thickness of a breast at its thickest; 0 in men.
    quanta
        Mean number of quanta a square mm where nothing absorbs: the exposure.
    bone_contrast
        Absorption of bone relative to 1 at the middle of the tube voltages in use.
    scatter_ratio
        Scattered over primary radiation behind the mean of the thorax.
    contrast
        Slope of the tone curve, 1 in the mean.
    brightness
        Offset of the tone curve.
    compression
        Share of the large-scale contrast that the processing takes away.
    sharpening
        Share of the fine detail that the processing adds.
    film_mm
        Width and height of the field.
    position_mm
        How far the patient stands from the middle of the field, to the image's right and down.
    """

    sex: Sex
    age_years: float
    size: float
    width: float
    fat_mm: float
    rotation_deg: float
    roll_deg: float
    tilt_deg: float
    inspiration: float
    heart_ratio: float
    clavicle_angle_deg: float
    scapula_mm: float
    breast_mm: float
    quanta: float
    bone_contrast: float
    scatter_ratio: float
    contrast: float
    brightness: float
    compression: float
    sharpening: float
    film_mm: tuple[float, float]
    position_mm: tuple[float, float]


def draw_patient(seed: int) -> Patient:
    """Draw a patient and an exposure; the same seed gives the same one."""
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
