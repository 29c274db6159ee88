"""How a study's pictures are read, searched and measured, for commands that do a part of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from overread.errors import OverreadError, UsageError
from overread.fields import FieldImage, FieldRecipe
from overread.images import read_channels
from overread.study.field_pipeline import find_masks, make_recipe
from overread.study.groups import split_groups
from overread.study.inputs import StudyInputs, read_inputs
from overread.study.settings import Settings, read_settings
from overread.study.units import LENGTHS, resolve_settings

__all__ = ["StudyRecipe", "complete_settings", "read_study_recipe"]


@dataclass(frozen=True)
class StudyRecipe:
    """A recipe with what else a study knows of its pictures.

    Attributes
    ----------
    recipe
        How pictures are read, searched and measured.
    limit
        Most candidates of a picture.
    masks
        Mask by image id, where the region comes from masks; a picture of no study has none.
    """

    recipe: FieldRecipe
    limit: int
    masks: dict[str, Path]

    def read(self, image_id: str, path: Path, mm_per_px: tuple[float, float] | None) -> FieldImage:
        """Read a picture of the study, or another one as if it were."""
        return self.recipe.read(path, mm_per_px=mm_per_px, mask=self.masks.get(image_id))

    def to_tables(
        self, table: pd.DataFrame, field: FieldImage, mm_per_px: tuple[float, float] | None
    ) -> pd.DataFrame:
        """Convert lengths from the recipe's unit to that of the study's tables; pixels where these have no spacing."""
        factor = (mm_per_px[0] if mm_per_px else 1.0) / field.mm_per_px if self.recipe.unit != "mm" else 1.0
        return table.assign(**{name: table[name] * factor for name in LENGTHS if name in table})

    def from_tables(
        self, table: pd.DataFrame, field: FieldImage, mm_per_px: tuple[float, float] | None
    ) -> pd.DataFrame:
        """Convert lengths from the unit of the study's tables to that of the recipe."""
        factor = field.mm_per_px / (mm_per_px[0] if mm_per_px else 1.0) if self.recipe.unit != "mm" else 1.0
        return table.assign(**{name: table[name] * factor for name in LENGTHS if name in table})


def read_study_recipe(folder: Path, group: str | None = None) -> StudyRecipe | None:
    """Read how a study's pictures are worked on; None for a study of chests, or a folder that is no study.

    Parameters
    ----------
    folder
        Of the study.
    group
        One of its groups of labels, where it has several.

    Raises
    ------
    UsageError
        If it has several groups and none, or another, is named.
    """
    if not (folder / "study.toml").is_file():
        return None
    settings = read_settings(folder / "study.toml")
    if settings.region.is_chest:
        return None
    groups = split_groups(settings)
    if group is not None and group not in groups:
        raise UsageError(f"--group {group!r}: the study has {', '.join(groups) or 'no groups'}")
    if len(groups) > 1 and group is None:
        raise UsageError(f"the study has several groups of labels; give --group {' or '.join(groups)}")
    if groups:
        settings = groups[group or next(iter(groups))]
    inputs = read_inputs(folder, settings)
    settings = complete_settings(settings, inputs)
    has_masks = settings.region.kind == "masks"
    masks = find_masks(inputs.images, folder, settings.images.masks) if has_masks else {}
    return StudyRecipe(make_recipe(settings), settings.candidates.limit, masks)


def complete_settings(settings: Settings, inputs: StudyInputs) -> Settings:
    """Fill in what depends on the study's images and marks (`overread.study.units.resolve_settings`)."""
    opens_pictures = not settings.region.is_chest and inputs.needs_images
    colour = has_colours(inputs) if opens_pictures else None
    return resolve_settings(settings, inputs.images, inputs.marks, colour=colour)


def has_colours(inputs: StudyInputs) -> bool:
    """Whether the first image that can be read has colours."""
    for path in inputs.images["path"]:
        try:
            return bool(read_channels(inputs.folder / path).shape[2] > 1)
        except OverreadError:
            continue
    return False
