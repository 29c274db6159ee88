"""How the upper arms hang: bone and soft tissue share the same axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from overread.simulate.phantom.patient import Patient
from overread.simulate.phantom.streams import stream

__all__ = ["ARM_Z_MM", "Arms", "make_arms"]

Scalar = TypeVar("Scalar", bound=np.floating)

ARM_Z_MM = 5.0
SHOULDER_Y_MM = 40.0


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
