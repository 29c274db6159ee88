"""All structures of one radiograph together."""

from __future__ import annotations

from overread.anatomy.clavicles import find_clavicles
from overread.anatomy.lungs import find_lungs
from overread.anatomy.ribs import find_ribs, find_ridges
from overread.anatomy.structures import Anatomy
from overread.anatomy.thorax import find_mediastinum, find_thorax, judge_mediastinum
from overread.images import Radiograph

__all__ = ["find_anatomy"]


def find_anatomy(radiograph: Radiograph) -> Anatomy:
    """Find lungs, thorax, mediastinum, ribs and clavicles as far as the image allows.

    Every mask and map is finite and on the grid of the radiograph, whatever the image shows; ``quality`` says how
    far to trust it. A lung that is not found is replaced by its half of the thorax.
    """
    fields = find_lungs(radiograph)
    ridges = find_ridges(radiograph)
    ribs = find_ribs(radiograph, ridges, fields.left | fields.right)
    clavicles = find_clavicles(radiograph, ridges, fields)
    inside = find_thorax(fields, radiograph.mm_per_px)
    return Anatomy(
        left_lung=fields.left,
        right_lung=fields.right,
        thorax=inside,
        mediastinum=find_mediastinum(fields, inside),
        ribs=ribs.probability,
        rib_direction_deg=ribs.direction_deg,
        clavicles=clavicles.mask,
        quality={
            "left_lung": fields.left_quality,
            "right_lung": fields.right_quality,
            "mediastinum": judge_mediastinum(fields),
            "ribs": ribs.quality,
            "clavicles": clavicles.quality,
        },
    )
