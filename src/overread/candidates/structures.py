"""All structures of one radiograph together."""

from __future__ import annotations

import numpy as np

from overread.candidates.lungs import lung_fields
from overread.candidates.regions import Anatomy, Quality
from overread.candidates.thorax import mediastinum, mediastinum_quality, thorax
from overread.images import Radiograph

__all__ = ["anatomy"]


def anatomy(radiograph: Radiograph) -> Anatomy:
    """Find lungs, thorax, mediastinum, ribs and clavicles as far as the image allows.

    Every mask and map is finite and on the grid of the radiograph, whatever the image shows; ``quality`` says how
    far to trust it. A lung that is not found is replaced by its half of the thorax.
    """
    fields = lung_fields(radiograph)
    inside = thorax(fields, radiograph.mm_per_px)
    return Anatomy(
        left_lung=fields.left,
        right_lung=fields.right,
        thorax=inside,
        mediastinum=mediastinum(fields, inside),
        ribs=np.zeros(radiograph.shape, dtype=np.float32),
        rib_direction_deg=np.zeros(radiograph.shape, dtype=np.float32),
        clavicles=np.zeros(radiograph.shape, dtype=bool),
        quality={
            "left_lung": fields.left_quality,
            "right_lung": fields.right_quality,
            "mediastinum": mediastinum_quality(fields),
            "ribs": Quality.FALLBACK,
            "clavicles": Quality.FALLBACK,
        },
    )
