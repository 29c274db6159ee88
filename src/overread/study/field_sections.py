"""Sections of ``study.toml`` that say what the images are: region, unit of lengths, colours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from overread.fields.field_image import LUMINANCE
from overread.fields.recipe import Unit
from overread.study.sections import Section

__all__ = ["Images", "Region", "Units"]

PLANES: dict[str, tuple[float, float, float]] = {
    "luminance": LUMINANCE,
    "red": (1.0, 0.0, 0.0),
    "green": (0.0, 1.0, 0.0),
    "blue": (0.0, 0.0, 1.0),
    "red_green": (1.0, -1.0, 0.0),
    "yellow_blue": (0.5, 0.5, -1.0),
}
PlaneName = Literal["luminance", "red", "green", "blue", "red_green", "yellow_blue"]
Weights = Annotated[list[float], Field(min_length=3, max_length=3)]


class Region(Section):
    """Where in an image objects are looked for.

    Attributes
    ----------
    kind
        chest: the lungs of a chest radiograph. field_of_view: the largest bright area of any picture. masks: what the
        images' mask files leave. all: the whole picture.
    """

    kind: Literal["chest", "field_of_view", "masks", "all"] = "chest"

    @property
    def is_chest(self) -> bool:
        """Whether images are chest radiographs, with the anatomy, finders and features of a chest."""
        return self.kind == "chest"


class Units(Section):
    """In which unit lengths are counted.

    Attributes
    ----------
    unit
        mm; px: pixels; fraction: per cent of an image's width. Marks are converted, and every setting that ends in _mm
        is in this unit. px and fraction need no size of a pixel; a chest needs mm.
    """

    unit: Unit = "mm"


class Images(Section):
    """How pictures other than chest radiographs are read.

    Attributes
    ----------
    plane
        What is searched of a colour picture: luminance, red, green, blue, red_green (r - g), yellow_blue
        ((r + g) / 2 - b), or weights of red, green and blue such as [0.0, 1.0, 0.5].
    stain
        Absorbance of a stain in red, green and blue: what is searched is then how much of it there is.
    colour
        Whether features are of all colours; without this key: whether the first image has colours.
    masks
        Folder of the masks, whose files are named as their images; without this key: the column mask of the images
        table.
    """

    plane: PlaneName | Weights = "luminance"
    stain: Weights | None = Field(default=None, examples=[[0.65, 0.7, 0.29]])
    colour: bool | None = Field(default=None, examples=[True])
    masks: str | None = Field(default=None, examples=["masks"])

    @model_validator(mode="after")
    def _one_plane(self) -> Images:
        if self.stain is not None and self.plane != "luminance":
            raise ValueError("plane and stain both say what is searched (give one of them)")
        for name in ("plane", "stain"):
            value = getattr(self, name)
            if isinstance(value, list) and not any(value):
                raise ValueError(f"{name} has three zeros (give at least one other number)")
        return self

    @property
    def weights(self) -> tuple[float, float, float]:
        """Weights of red, green and blue in the plane that is searched."""
        red, green, blue = PLANES[self.plane] if isinstance(self.plane, str) else self.plane
        return red, green, blue
