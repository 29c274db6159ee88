"""What lies around candidates: planes sampled on 24 rays around each, up to 4 of its radii R.

"Inside" is up to R, the "ring" from 1.5 to 2.5 R, the "surround" from 2.5 to 4 R; means weigh a sample by its distance,
as areas do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.fields.field_image import FieldImage

__all__ = ["ANGLES", "REACH", "RHO", "Surroundings", "mean_between", "spread_between"]

Floats = NDArray[np.float64]

N_RAYS = 24
STEPS_PER_RADIUS = 8
REACH = 4.0
RHO = (np.arange(int(REACH * STEPS_PER_RADIUS)) + 0.5) / STEPS_PER_RADIUS
ANGLES = 2 * np.pi * np.arange(N_RAYS) / N_RAYS


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Candidates of one picture with what is sampled around them."""

    field: FieldImage
    column: Floats
    row: Floats
    radius_px: Floats
    response: Floats

    @cached_property
    def places(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Columns and rows of the samples: candidate, ray, distance."""
        reach = self.radius_px[:, None, None] * RHO
        return (
            (self.column[:, None, None] + reach * np.cos(ANGLES)[:, None]).astype(np.float32),
            (self.row[:, None, None] + reach * np.sin(ANGLES)[:, None]).astype(np.float32),
        )

    @cached_property
    def pixels(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of the pixel of each candidate."""
        rows, columns = self.field.region.shape
        return (
            np.clip(self.row.round().astype(np.intp), 0, rows - 1),
            np.clip(self.column.round().astype(np.intp), 0, columns - 1),
        )

    def sample(self, plane: NDArray[np.float32]) -> Floats:
        """Values of a plane on the rays, bilinear, the border continued."""
        columns, rows = (place.reshape(-1, len(RHO)) for place in self.places)
        if not len(columns):
            return np.empty((0, N_RAYS, len(RHO)))
        # cv2.remap takes at most 32,767 rows.
        blocks = [
            cv2.remap(
                plane,
                columns[start : start + 32_000],
                rows[start : start + 32_000],
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            )
            for start in range(0, len(columns), 32_000)
        ]
        return np.concatenate(blocks).reshape(-1, N_RAYS, len(RHO)).astype(np.float64)

    @cached_property
    def flat(self) -> Floats:
        """The flat plane on the rays."""
        return self.sample(self.field.flat)

    @cached_property
    def contrast(self) -> Floats:
        """Flat: inside minus ring."""
        return mean_between(self.flat, 0, 1) - mean_between(self.flat, 1.5, 2.5)

    @cached_property
    def sign(self) -> Floats:
        """1 where the candidate is brighter than its ring, else -1."""
        return np.where(self.contrast >= 0, 1.0, -1.0)


def mean_between(samples: Floats, low: float, high: float) -> Floats:
    """Mean over the area between two distances."""
    chosen = (low <= RHO) & (high > RHO)
    return np.asarray(samples[..., chosen].mean(axis=1) @ RHO[chosen] / RHO[chosen].sum())


def spread_between(samples: Floats, low: float, high: float) -> Floats:
    """Measure the standard deviation of the samples between two distances."""
    chosen = (low <= RHO) & (high > RHO)
    return np.asarray(samples[..., chosen].std(axis=(1, 2)))
