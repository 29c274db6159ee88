"""Soft tissue of trunk, neck, arms and breasts; gas in the abdomen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.cage import BASE_Y_MM, Cage
from overread.simulate.phantom.canvas import chord, fourth_power, smooth_step
from overread.simulate.phantom.exposure import power_law_noise
from overread.simulate.phantom.lungs import Diaphragm
from overread.simulate.phantom.patient import Patient, stream
from overread.simulate.phantom.view import View, by_bands

__all__ = ["ARM_Z_MM", "Arms", "abdominal_gas", "make_arms", "soft_tissue"]

Scalar = TypeVar("Scalar", bound=np.floating)
Floats = NDArray[np.float32]

# Depths and heights of what is drawn here, set by eye.
ARM_Z_MM = 5.0
SHOULDER_Y_MM = 40.0
BREAST_Z_MM = -100.0
STOMACH_Z_MM = -20.0


@dataclass(frozen=True)
class Arms:
    """Axis of each upper arm (image's left, image's right) in patient mm."""

    shoulder_x_mm: tuple[float, float]
    slope: tuple[float, float]

    def axis(self, y: NDArray[Scalar], side: int) -> NDArray[Scalar]:
        """Distance of the axis from the midline at height y; side -1 is the image's left."""
        k = int(side > 0)
        return y.dtype.type(self.shoulder_x_mm[k]) + y.dtype.type(self.slope[k]) * (
            y - y.dtype.type(SHOULDER_Y_MM)
        )


def make_arms(patient: Patient, *, seed: int) -> Arms:
    """Let the arms hang, turned out as far as the shoulder blades are."""
    rng = stream(seed, "arms")
    outwards = np.tan(np.radians(np.clip(rng.normal(11, 5, 2), 1, 24)))
    shoulder = 160 + 0.5 * patient.scapula_mm + rng.normal(0, 3, 2)
    return Arms((float(shoulder[0]), float(shoulder[1])), (float(outwards[0]), float(outwards[1])))


def soft_tissue(view: View, patient: Patient, cage: Cage, arms: Arms, *, seed: int) -> Floats:
    """Thickness of the body along each beam in mm, as if the lungs were solid.

    Trunk, shoulders, neck and arms run into each other: the fourth root of the sum of their fourth powers.
    """
    rng = stream(seed, "trunk")
    chin_y = -128 + rng.normal(0, 12)
    breasts = _place_breasts(patient, cage, rng)

    def thickness(x: Floats, y: Floats, front_x: Floats, front_y: Floats) -> Floats:
        body = fourth_power(_trunk(x, y, patient, cage))
        for part in (_shoulders(x, y, patient), _neck(x, y, patient, chin_y), _arms(x, y, patient, arms)):
            body += fourth_power(part)
        on_top = _pectorals(x, y, patient) + _beside_spine(x, y)
        for breast in breasts:
            on_top += _breast(front_x, front_y, patient, breast)
        return np.sqrt(np.sqrt(body)) + on_top

    return by_bands(thickness, *view.at(0.0), *view.at(BREAST_Z_MM))


def _trunk(x: Floats, y: Floats, patient: Patient, cage: Cage) -> Floats:
    chest = cage.half_width(np.minimum(y, BASE_Y_MM)) + (8 + 0.9 * patient.fat_mm)
    waist = (0.93 * cage.half_width_mm + 0.9 * patient.fat_mm) * smooth_step(y, 0, 90)
    half = np.maximum(chest, waist) * (1 - 0.02 * smooth_step(y, 200, 330))
    depth = cage.half_depth(np.maximum(y, 60)) + (13 + 0.55 * patient.fat_mm)
    return 2 * depth * np.sqrt(chord(1 - fourth_power(x / half))) * smooth_step(y, -70, 60)


def _shoulders(x: Floats, y: Floats, patient: Patient) -> Floats:
    """Trapezius and deltoid: from a slope between neck and shoulder down to the armpit."""
    reach = 212 + 0.5 * patient.fat_mm
    out = np.minimum(np.abs(x) / reach, 1)
    slope = -64 - 0.4 * patient.fat_mm + 60 * out * np.sqrt(out)
    below = chord(np.minimum((y - slope) / 55, 1))
    side = np.sqrt(chord(1 - fourth_power(x / reach)))
    return (135 + patient.fat_mm) * below * side * (1 - smooth_step(y, 60, 190))


def _neck(x: Floats, y: Floats, patient: Patient, chin_y: float) -> Floats:
    """Neck, and the chin above it where the plate is tall enough."""
    half = 48 + 0.2 * patient.fat_mm + 40 * smooth_step(y, -60, 20)
    neck = 128 * chord(1 - (x / half) ** 2) * (1 - smooth_step(y, -10, 60))
    chin = chord(1 - (x / 62) ** 2 - (np.maximum(y - chin_y, 0) / 24) ** 2)
    return neck + 110 * chin


def _arms(x: Floats, y: Floats, patient: Patient, arms: Arms) -> Floats:
    half = (43 + 0.5 * patient.fat_mm) * (1 - 0.2 * smooth_step(y, 40, 250))
    round_top = chord(np.minimum((y + 4) / 55, 1))
    left, right = (chord(1 - ((side * x - arms.axis(y, side)) / half) ** 2) for side in (-1, 1))
    return (86 + patient.fat_mm) * (left + right) * round_top


@dataclass(frozen=True)
class Breast:
    """Side -1 is the image's left; x from the midline."""

    side: int
    x_mm: float
    y_mm: float


def _place_breasts(patient: Patient, cage: Cage, rng: np.random.Generator) -> list[Breast]:
    if patient.breast_mm == 0:
        return []
    y = 168 + 0.35 * patient.breast_mm + rng.normal(0, 6)
    return [
        Breast(side, 0.62 * cage.half_width_mm + rng.normal(0, 4), y + rng.normal(0, 4)) for side in (-1, 1)
    ]


def _breast(x: Floats, y: Floats, patient: Patient, breast: Breast) -> Floats:
    """Thickness of a breast: a crisp lower border, running out smoothly above."""
    width = 48 + 0.45 * patient.breast_mm
    dy = y - breast.y_mm
    height = np.where(dy > 0, 0.8 * width, 1.9 * width).astype(np.float32)
    ball = chord(1 - ((breast.side * x - breast.x_mm) / width) ** 2 - (dy / height) ** 2)
    crisp = smooth_step(dy, -20, 25)
    runs_out = 1 - 0.7 * smooth_step(-dy, 0, 1.9 * width)
    return patient.breast_mm * runs_out * (ball * crisp + ball * ball * ball * (1 - crisp))


def _pectorals(x: Floats, y: Floats, patient: Patient) -> Floats:
    """Pectoral muscles: a veil over the upper outer lung that ends along the fold of the armpit."""
    thickness = 12.0 if patient.breast_mm else 20.0
    out = np.abs(x)
    fold = smooth_step((out - 30) / 120 - (y - 60) / 110, -0.7, 0.6)
    return thickness * fold * smooth_step(y, -30, 70) * (1 - smooth_step(out, 110, 190))


def _beside_spine(x: Floats, y: Floats) -> Floats:
    """Muscles along the spine, which leave less room for the lung there."""
    return 34 * np.exp(-((x / 62) ** 2)) * smooth_step(y, -60, 60)


def abdominal_gas(view: View, diaphragm: Diaphragm, *, seed: int) -> Floats:
    """Air in stomach and bowel, in mm along the beam: a bubble under the left dome and irregular loops."""
    rng = stream(seed, "abdomen")
    rough = power_law_noise(view.shape, 4.2, rng, longest_px=40 / view.mm_per_px)
    dome = diaphragm.dome_y_mm[1]
    bubbles, loops = [], []
    if rng.random() < 0.6:
        cx, cy = rng.uniform(50, 90), dome + rng.uniform(20, 34)
        a, b = rng.uniform(12, 36), rng.uniform(7, 15)
        level_y = cy + rng.uniform(0.1, 0.9) * b
        bubbles.append((cx, cy, a, b, level_y, rng.uniform(18, 45)))
    for _ in range(int(rng.integers(0, 4))):
        cx, cy = rng.uniform(20, 125), dome + rng.uniform(45, 120)
        a, b = rng.uniform(12, 34), rng.uniform(10, 24)
        loops.append((cx, cy, a, b, rng.uniform(8, 22)))

    def air(x: Floats, y: Floats, rough: Floats) -> Floats:
        total = np.zeros_like(x)
        for cx, cy, a, b, level_y, depth in bubbles:
            level = smooth_step(level_y - y, -1.0, 1.0)
            bubble = chord(1 - ((x - cx) / a) ** 2 - ((y - cy) / b) ** 2 + 0.3 * rough)
            total += depth * bubble * level
        for cx, cy, a, b, depth in loops:
            total += depth * chord(0.5 - ((x - cx) / a) ** 2 - ((y - cy) / b) ** 2 + 0.8 * rough)
        return total

    return by_bands(air, *view.at(STOMACH_Z_MM), rough)
