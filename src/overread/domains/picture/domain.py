"""All that turns a picture into candidates and features, in one plain record that a detector carries with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import pandas as pd

from overread.domains.picture._features import extract_generic, generic_names
from overread.domains.picture._finder import FieldFinder, Polarity, load_field_finder
from overread.domains.picture._image import PictureImage, RegionKind, read_picture
from overread.errors import ImageError, InvalidInputError
from overread.images import (
    choose_spacing,
    file_content,
    name_errors,
    picture_kind,
    read_channels,
    read_source,
)

Unit = Literal["mm", "px", "fraction"]

PERCENT = 100.0
"""Where lengths are fractions of the picture's width they are counted in per cent of it."""
# Twenty scales; a file of a detector must not ask for thousands. Chosen by eye.
WIDEST_RANGE = 1000.0
# Longest meaning of a code in DICOM (PS3.5 table 6.2-1).
LONGEST_TARGET = 64
MASK_ENDINGS = (".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp", ".dcm")


@dataclass(frozen=True)
class FieldRecipe:
    """How pictures are read, searched and measured.

    Attributes
    ----------
    region
        Where is searched: field_of_view, masks or all.
    unit
        Of every length: mm, px, or fraction (per cent of the picture's width).
    colour
        Whether features are of all planes of colour; a grey picture then has three equal channels.
    weights
        Of red, green and blue in the plane that is searched, or None: luminance.
    stain
        Absorbance of a stain in red, green and blue, in place of weights, or None.
    finder
        Who looks for candidates.
    polarity, smallest_mm, largest_mm
        What it looks for: bright, dark or both, and radii in the unit.
    target
        What is looked for, by name, for documents.
    """

    region: RegionKind
    unit: Unit
    colour: bool
    weights: tuple[float, float, float] | None
    stain: tuple[float, float, float] | None
    finder: str
    polarity: Polarity
    smallest_mm: float
    largest_mm: float
    target: str = "object"

    def __post_init__(self) -> None:
        for name, value, kind in (
            ("region", self.region, RegionKind),
            ("unit", self.unit, Unit),
            ("polarity", self.polarity, Polarity),
        ):
            if value not in get_args(kind):
                raise InvalidInputError(f"{name} {value!r} does not exist; use {' or '.join(get_args(kind))}")
        if not self.target.isprintable() or not 0 < len(self.target) <= LONGEST_TARGET:
            raise InvalidInputError(f"target is not a line of 1 to {LONGEST_TARGET} printable characters")
        if not 0 < self.smallest_mm <= self.largest_mm <= WIDEST_RANGE * self.smallest_mm < float("inf"):
            raise InvalidInputError(
                f"radii from {self.smallest_mm:g} to {self.largest_mm:g}: the smallest has to be above 0, and the "
                f"largest from it to {WIDEST_RANGE:g} times as much"
            )

    @cached_property
    def who_finds(self) -> FieldFinder:
        """Return the finder."""
        return load_field_finder(
            self.finder, polarity=self.polarity, smallest_mm=self.smallest_mm, largest_mm=self.largest_mm
        )

    @property
    def feature_names(self) -> list[str]:
        """Features that can be computed, in the order of their columns."""
        return generic_names(colour=self.colour)

    def read(
        self,
        path: str | Path,
        *,
        mm_per_px: float | Sequence[float] | None = None,
        mask: str | Path | None = None,
    ) -> PictureImage:
        """Read a picture in the recipe's unit.

        Parameters
        ----------
        path
            The file.
        mm_per_px
            Size of a pixel where the unit is mm and the file does not state it; else it does not matter.
        mask
            File of the region, for "masks".

        Raises
        ------
        ImageError
            If a file cannot be used, or the size of a pixel is needed and not known.
        """
        return read_picture(
            path,
            mm_per_px=find_spacing(path, self.unit, mm_per_px),
            region=self.region,
            weights=self.weights,
            stain=self.stain,
            colour=self.colour,
            mask=mask,
        )

    def measure(
        self,
        field: PictureImage,
        features: Sequence[str],
        *,
        limit: int,
        candidates: pd.DataFrame | None = None,
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the candidates of a picture and their features, in the same order.

        Parameters
        ----------
        field
            The picture.
        features
            Names of the features that are wanted.
        limit
            Most candidates.
        candidates
            Candidates, where they are known already.
        """
        found = self.who_finds(field, limit=limit) if candidates is None else candidates
        found = found.reset_index(drop=True)
        if "response" not in found:
            found = found.assign(response=0.0)
        return found, extract_generic(field, found)[["candidate_id", *features]]


def find_spacing(
    path: str | Path, unit: Unit, mm_per_px: float | Sequence[float] | None
) -> float | Sequence[float]:
    """Return the side of a pixel of a picture in a unit; in mm the given one, else what the file states.

    Raises
    ------
    ImageError
        If the unit is mm and the size is not known.
    """
    if unit == "px":
        return 1.0
    if unit == "fraction":
        return PERCENT / read_channels(path).shape[1]
    if mm_per_px is not None:
        return mm_per_px
    if name_errors(path, lambda: picture_kind(file_content(Path(path)))) is not None:
        raise ImageError(
            f"{path}: the file does not state the size of a pixel; give mm_per_px (--mm-per-px), or count in pixels:"
            ' [units] unit = "px"'
        )
    stated = name_errors(path, lambda: choose_spacing(read_source(path).spacing, None))
    return stated.x, stated.y


def find_mask(masks: Path, image: Path) -> Path:
    """Find the mask of a picture in a folder: the file of the same name, whatever its ending.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    for ending in (image.suffix, *MASK_ENDINGS):
        if (masks / f"{image.stem}{ending}").is_file():
            return masks / f"{image.stem}{ending}"
    raise InvalidInputError(f"{masks}: there is no mask {image.stem}{MASK_ENDINGS[0]} for {image.name}")
