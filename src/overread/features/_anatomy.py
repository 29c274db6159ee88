"""The anatomy that candidates and features refer to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from overread._text import short_repr
from overread.features._arrays import F32, Mask


class Quality(StrEnum):
    """How far a structure can be trusted."""

    FOUND = "found"
    DOUBTFUL = "doubtful"
    FALLBACK = "fallback"


@short_repr("quality", "left_lung")
@dataclass(frozen=True, eq=False)
class Anatomy:
    """Masks and maps on the grid of one radiograph, each with a quality.

    Parameters
    ----------
    left_lung, right_lung
        Lung fields on the left and right side *of the image* (the patient's right and left).
    thorax
        The rib cage's inside with the mediastinum: where lungs are not found, candidates are sought here.
    mediastinum
        Heart, great vessels and spine between the lungs.
    ribs
        How much a pixel looks like rib, 0 to 1, float32.
    rib_direction_deg
        Direction of the local rib, clockwise on screen from +x, in [0, 180), float32; meaningful where there is
        one.
    clavicles
        Mask of both.
    quality
        By structure: ``"left_lung"``, ``"right_lung"``, ``"ribs"``, ``"clavicles"``, ``"mediastinum"``.
    """

    left_lung: Mask
    right_lung: Mask
    thorax: Mask
    mediastinum: Mask
    ribs: F32
    rib_direction_deg: F32
    clavicles: Mask
    quality: dict[str, Quality]

    @property
    def lungs(self) -> Mask:
        """Both lung fields."""
        return self.left_lung | self.right_lung
