"""Heart, great vessels, trachea: what stands between the lungs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import gaussian_filter1d

from overread.simulate.phantom._kernels import chord_between
from overread.simulate.phantom.cage import Cage
from overread.simulate.phantom.canvas import chord, columns_within, fourth_power
from overread.simulate.phantom.patient import Patient, stream
from overread.simulate.phantom.view import View, by_bands

__all__ = ["Mediastinum", "make_mediastinum"]

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

# Set by eye against NIH radiographs; see docs/explanation/phantom.md.
HEART_Z_MM = -30.0
HEART_TOP_MM = 88.0
BORDER_SMOOTHING_MM = 5.0
AIRWAY_REACH_MM = 75.0


@dataclass(frozen=True, eq=False)
class Mediastinum:
    """Half chords between 0 and 1 of the cage's depth, air of the airways in mm, and where they are not zero."""

    share: Floats
    airway_mm: Floats
    heart: Masks


def make_mediastinum(view: View, patient: Patient, cage: Cage, *, dome_y: float, seed: int) -> Mediastinum:
    """Place heart and great vessels; the heart sits on the diaphragm at height ``dome_y``."""
    rng = stream(seed, "mediastinum")
    heart = _heart(view, patient, cage, dome_y, rng)
    column, knob = _great_vessels(view, patient, rng)
    share = np.sqrt(np.sqrt(fourth_power(heart) + fourth_power(column) + fourth_power(knob)))
    return Mediastinum(
        share=np.minimum(share, 1),
        airway_mm=_airway(view, rng),
        heart=heart > 0,
    )


def _between(
    x: Floats, y: Floats, knots: NDArray[np.float64], right: NDArray[np.float64], left: NDArray[np.float64]
) -> Floats:
    """Half chord of a body with an elliptic section between two borders that change with height."""
    fine, step = np.linspace(knots[0], knots[-1], 600, retstep=True)
    smooth_right, smooth_left = (
        gaussian_filter1d(PchipInterpolator(knots, b)(fine), BORDER_SMOOTHING_MM / step, mode="nearest")
        for b in (right, left)
    )
    return chord_between(x, y, float(fine[0]), float(step), smooth_right, smooth_left)


def _heart(view: View, patient: Patient, cage: Cage, dome_y: float, rng: np.random.Generator) -> Floats:
    x, y = view.at(HEART_Z_MM)
    width = 2 * cage.half_width_mm * patient.heart_ratio
    share_right = rng.normal(0.345, 0.02)
    length = dome_y + 14 - HEART_TOP_MM
    levels = np.array([0.0, 0.12, 0.3, 0.5, 0.68, 0.82, 0.93, 1.04, 1.3])
    right = np.array([0.0, 0.4, 0.62, 0.86, 0.99, 1.0, 0.93, 0.8, 0.0]) * width * share_right
    left = np.array([0.0, 0.3, 0.47, 0.70, 0.90, 1.0, 0.99, 0.9, 0.0]) * width * (1 - share_right)
    left[1:-1] += rng.normal(0, 1.5, 7)
    right[1:-1] += rng.normal(0, 1.2, 7)
    inside = (y > HEART_TOP_MM) & (y < HEART_TOP_MM + 1.3 * length)
    knots = HEART_TOP_MM + levels * length
    return np.where(inside, _between(x, y, knots, right, left), 0).astype(np.float32)


def _great_vessels(view: View, patient: Patient, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Half chords of the upright vessels and of the aortic knob."""
    x, y = view.at(5.0)
    age = (patient.age_years - 50) / 40
    shift = rng.normal(0, 4)
    knots = np.array([-300, -45, -10, 14, 45, 85, 104, 125, 160, 230, 420], dtype=np.float64)
    left = np.array([44, 42, 33, 25, 24, 29, 35, 33, 28, 25, 25.0])
    right = np.array([44, 42, 33, 25, 24, 29, 31, 30, 27, 24, 24.0])
    left[2:] += rng.normal(0, 1.5, 9)
    right[2:] += rng.normal(0, 1.3, 9) + 2 * age
    column = _between(x, y, knots, right, left)
    radius = 15 + 2.5 * age + rng.normal(0, 1.2)
    off_x, off_y = x - (21 + 4 * age), (y - (66 + shift - 3 * age)) / 1.12
    knob = chord(1 - (off_x * off_x + off_y * off_y) / (radius * radius)) * 0.7
    return column, knob


def _airway(view: View, rng: np.random.Generator) -> Floats:
    """Air in the trachea and the main bronchi."""
    x, y = view.at(15.0)
    middle = columns_within(x, AIRWAY_REACH_MM)
    shift = rng.normal(-2, 2)
    carina = 92 + rng.normal(0, 4)

    def air(x: Floats, y: Floats) -> Floats:
        drift = shift * np.clip((y + 60) / 150, 0, 1)
        trachea = chord(1 - ((x - drift) / 9) ** 2) * 18 * (y < carina)
        below = np.maximum(y - carina + 6, 0)
        right = chord(1 - ((x - drift + below * 0.62) / 8) ** 2)
        left = chord(1 - ((x - drift - below * 0.95) / 8.5) ** 2)
        fade = np.clip(1 - below / 38, 0, 1) * (y >= carina - 6)
        return np.maximum(trachea, np.maximum(right, left) * 14 * fade)

    total = np.zeros(view.shape, dtype=np.float32)
    total[:, middle] = by_bands(air, x[:, middle], y[:, middle])
    return total
