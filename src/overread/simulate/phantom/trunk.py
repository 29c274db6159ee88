"""Soft tissue: trunk, shoulders, neck, arms, breasts, abdomen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.arms import Arms
from overread.simulate.phantom.cage import BASE_Y_MM, Cage
from overread.simulate.phantom.canvas import chord, smooth_step
from overread.simulate.phantom.detector import power_law_noise
from overread.simulate.phantom.lungs import Diaphragm
from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.streams import stream
from overread.simulate.phantom.view import View

__all__ = ["abdominal_gas", "soft_tissue"]

Floats = NDArray[np.float32]


def soft_tissue(view: View, patient: Patient, cage: Cage, arms: Arms, *, seed: int) -> Floats:
    """Thickness of the body along each beam in mm, as if the lungs were solid."""
    rng = stream(seed, "trunk")
    x, y = view.at(0.0)
    parts = [
        _trunk(x, y, patient, cage),
        _shoulder_girdle(x, y, patient),
        _neck(x, y, patient, rng),
        _arms(x, y, patient, arms),
    ]
    powered = sum(part**3 for part in parts)
    body = np.cbrt(powered)
    return body + _breasts(view, patient, cage, rng) + _muscles(x, y, patient) + _beside_spine(x, y)


def _beside_spine(x: Floats, y: Floats) -> Floats:
    """Muscles along the spine, which leave less room for the lung there."""
    return np.float32(34) * np.exp(-((x / np.float32(62)) ** 2)) * smooth_step(y, -60, 60)


def _trunk(x: Floats, y: Floats, patient: Patient, cage: Cage) -> Floats:
    half = cage.half_width(np.minimum(y, np.float32(BASE_Y_MM))).astype(np.float32) + np.float32(8 + 0.9 * patient.fat_mm)
    half = np.maximum(
        half, np.float32(0.93 * cage.half_width_mm + 0.9 * patient.fat_mm) * smooth_step(y, 0, 90)
    )
    half = half * (1 - np.float32(0.02) * smooth_step(y, 200, 330))
    depth = cage.half_depth(np.maximum(y, 60)).astype(np.float32) + np.float32(13 + 0.55 * patient.fat_mm)
    shape = np.sqrt(chord(1 - (x / half) ** 4))
    return 2 * depth * shape * smooth_step(y, -70, 60)


def _shoulder_girdle(x: Floats, y: Floats, patient: Patient) -> Floats:
    reach = np.float32(200 + 0.5 * patient.fat_mm)
    out = np.minimum(np.abs(x) / reach, 1)
    top = np.float32(-58 - 0.3 * patient.fat_mm) + np.float32(64) * out**1.4
    below = y - top
    rise = chord(np.minimum(below / np.float32(60), 1))
    lower = 1 - smooth_step(y, 60, 190)
    side = np.sqrt(chord(1 - (x / reach) ** 6))
    return np.float32(135 + patient.fat_mm) * rise * lower * side


def _neck(x: Floats, y: Floats, patient: Patient, rng: np.random.Generator) -> Floats:
    flare = np.float32(48 + 0.2 * patient.fat_mm) + 40 * smooth_step(y, -60, 20)
    neck = np.float32(128) * chord(1 - (x / flare) ** 2) * (1 - smooth_step(y, -10, 60))
    chin_y = np.float32(-128 + rng.normal(0, 12))
    chin = chord(
        1 - (x / np.float32(62)) ** 2 - (np.minimum(y - chin_y, 0) * 0 + np.maximum(y - chin_y, 0) / 24) ** 2
    )
    return neck + np.float32(110) * chin


def _arms(x: Floats, y: Floats, patient: Patient, arms: Arms) -> Floats:
    total = np.zeros_like(x)
    radius = np.float32(43 + 0.5 * patient.fat_mm)
    top = chord(np.minimum((y + np.float32(4)) / np.float32(55), np.float32(1)))
    for side in (-1, 1):
        across = (np.float32(side) * x - arms.axis(y, side)) / (radius * (1 - np.float32(0.2) * smooth_step(y, 40, 250)))
        total += np.float32(2) * radius * chord(1 - across * across) * top
    return total


def _breasts(view: View, patient: Patient, cage: Cage, rng: np.random.Generator) -> Floats:
    if patient.breast_mm == 0:
        return np.zeros(view.shape, dtype=np.float32)
    x, y = view.at(-100.0)
    total = np.zeros_like(x)
    sag = rng.normal(0, 6)
    for side in (-1, 1):
        width = np.float32(48 + 0.45 * patient.breast_mm)
        cx = np.float32(cage.half_width_mm * 0.62 + rng.normal(0, 4))
        cy = np.float32(168 + 0.35 * patient.breast_mm + sag + rng.normal(0, 4))
        dx, dy = (side * x - cx) / width, y - cy
        height = np.where(dy > 0, width * np.float32(0.8), width * np.float32(1.9))
        ball = chord(1 - dx * dx - (dy / height) ** 2)
        upper = 1 - smooth_step(-dy, 0, 1.9 * float(width)) * np.float32(0.7)
        crisp = smooth_step(dy, -20, 25)
        total += np.float32(patient.breast_mm) * upper * (ball * crisp + ball * ball * ball * (1 - crisp))
    return total


def _muscles(x: Floats, y: Floats, patient: Patient) -> Floats:
    """Pectoral muscles: a veil over the upper outer lung that ends along the axillary fold."""
    thick = np.float32(12 if patient.breast_mm else 20)
    fold = (np.abs(x) - 30) / np.float32(120) - (y - 60) / np.float32(110)
    return (
        thick
        * smooth_step(fold, -0.7, 0.6)
        * smooth_step(y, -30, 70)
        * (1 - smooth_step(np.abs(x), 110, 190))
    )


def abdominal_gas(view: View, diaphragm: Diaphragm, *, seed: int) -> Floats:
    """Air in stomach and bowel, in mm along the beam: a bubble under the left dome and irregular loops."""
    rng = stream(seed, "abdomen")
    x, y = view.at(-20.0)
    rough = power_law_noise(view.shape, 4.2, rng, longest_px=40 / view.mm_per_px)
    total = np.zeros_like(x)
    dome = diaphragm.dome_y_mm[1]
    if rng.random() < 0.6:
        cx, cy = rng.uniform(50, 90), dome + rng.uniform(20, 34)
        a, b = rng.uniform(12, 36), rng.uniform(7, 15)
        off = ((x - np.float32(cx)) / np.float32(a)) ** 2 + ((y - np.float32(cy)) / np.float32(b)) ** 2
        level = smooth_step(np.float32(cy + rng.uniform(0.1, 0.9) * b) - y, -1.0, 1.0)
        total += np.float32(rng.uniform(18, 45)) * chord(1 - off + np.float32(0.3) * rough) * level
    for _ in range(int(rng.integers(0, 4))):
        cx, cy = rng.uniform(20, 125), dome + rng.uniform(45, 120)
        a, b = rng.uniform(12, 34), rng.uniform(10, 24)
        off = ((x - np.float32(cx)) / np.float32(a)) ** 2 + ((y - np.float32(cy)) / np.float32(b)) ** 2
        total += np.float32(rng.uniform(8, 22)) * chord(np.float32(0.5) - off + np.float32(0.8) * rough)
    return total
