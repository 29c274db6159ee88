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
    """Masks and maps on the grid of one radiograph, each with a quality."""

    left_lung: Mask  # on the left side *of the image*: the patient's right
    right_lung: Mask
    thorax: Mask  # the rib cage's inside: searched where lungs are not found
    mediastinum: Mask  # heart, great vessels and spine between the lungs
    ribs: F32  # how much a pixel looks like rib, 0 to 1
    rib_direction_deg: F32  # clockwise on screen from +x, in [0, 180)
    clavicles: Mask
    quality: dict[str, Quality]

    @property
    def lungs(self) -> Mask:
        """Both lung fields."""
        return self.left_lung | self.right_lung
