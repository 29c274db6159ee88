"""The rib cage as a surface: how wide, how deep, where each rib starts and ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.patient import Patient, stream

__all__ = ["APEX_Y_MM", "BASE_Y_MM", "N_RIBS", "SPINE_Z_MM", "Cage", "RibCurve", "make_cage"]

Points = NDArray[np.float64]
AnyFloats = NDArray[np.floating]

N_RIBS = 12
# All lengths of the cage were set by eye against NIH radiographs; see docs/explanation/phantom.md.
SPINE_Z_MM = 62.0
APEX_Y_MM = -10.0
BASE_Y_MM = 205.0
# How far each rib falls from the spine to its end, and how far from the midline it ends.
RIB_DROP_MM = np.array([46, 76, 98, 114, 124, 130, 134, 132, 124, 110, 75, 50], dtype=np.float64)
RIB_END_MM = np.array([30, 38, 46, 54, 62, 72, 86, 98, 108, 116, 124, 95], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class RibCurve:
    """Centre line of a rib (n x 3) with the angle around the chest, 0 at the spine, pi/2 at the side."""

    number: int
    side: int
    points: Points
    angle: Points


@dataclass(frozen=True, eq=False)
class Cage:
    """Rib cage of a patient of size 1, in mm."""

    half_width_mm: float
    half_depth_mm: float
    drop: float
    wobble: Points

    def half_width(self, y: AnyFloats) -> AnyFloats:
        """Half the width between the rib centres at height y."""
        below = np.clip((y - BASE_Y_MM) / 160.0, 0.0, 1.0)
        above = 1 - np.clip((y - APEX_Y_MM) / (BASE_Y_MM - APEX_Y_MM), 0.0, 1.0)
        rounded = np.sqrt(1 - above * above * np.sqrt(np.sqrt(above)))
        # The exponents 2.25 and 0.625 as square roots, which cost a fraction of a power.
        widening = rounded * np.sqrt(np.sqrt(rounded))
        return 30 + (self.half_width_mm - 30) * (widening - 0.12 * below * below * (3 - 2 * below))

    def half_depth(self, y: AnyFloats) -> AnyFloats:
        """Half the depth inside the cage at height y."""
        u = np.clip((y - APEX_Y_MM) / 190.0, 0.0, 1.0)
        return self.half_depth_mm * (0.38 + 0.62 * u * (2 - u))

    def vertebra_y(self, number: NDArray[np.int_] | int) -> Points:
        """Height of the middle of a vertebra; 1 is T1, 12 is T12, 0 is C7."""
        k = np.asarray(number, dtype=np.float64)
        return 20.4 * (k - 1) + 0.375 * (k - 1) * np.abs(k)

    def rib(self, number: int, side: int) -> RibCurve:
        """Centre line of a rib; side -1 is the image's left."""
        index = number - 1
        drop = RIB_DROP_MM[index] * self.drop
        start_y = float(self.vertebra_y(number)) - 6 + self.wobble[index, 0]
        lateral_y = start_y + 0.5 * drop
        a = float(self.half_width(np.array(lateral_y))) * (0.86 if number == 1 else 1.0)
        b = float(self.half_depth(np.array(lateral_y)))
        end = np.pi - np.arcsin(min(RIB_END_MM[index] / a, 0.98))
        if number > 10:
            end = 1.45 if number == 11 else 0.95
        angle = np.linspace(np.arcsin(min(18 / a, 0.9)), end, 90)
        rise = 0.075 * (1 - number / 14)
        fall = np.sin(angle / 2) ** 2 - rise * np.sin(2 * angle) * (angle < np.pi / 2)
        x = side * a * np.sin(angle)
        y = start_y + drop * fall + self.wobble[index, 1 + (side > 0)] * np.sin(angle)
        z = b * np.cos(angle) - 8 + 6 * np.sin(2 * angle)
        return RibCurve(number, side, np.column_stack([x, y, z]), angle)


def make_cage(patient: Patient, *, seed: int) -> Cage:
    """Shape the rib cage of a patient."""
    rng = stream(seed, "cage")
    return Cage(
        half_width_mm=146.0 * patient.width,
        half_depth_mm=float(np.clip(rng.normal(92, 7), 76, 110)),
        drop=1.16 - 0.28 * patient.inspiration + float(rng.normal(0, 0.04)),
        wobble=rng.normal(0, 2.0, (N_RIBS, 3)),
    )
