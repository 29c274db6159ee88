"""What is done with one picture that is no chest radiograph: region, candidates, generic features."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd

from overread.domains import GENERIC_VERSION, FieldRecipe, find_mask
from overread.errors import InvalidInputError, TableError
from overread.files import digest_of_value, from_json, to_json
from overread.study._pipeline import ImageTask, ImageWork
from overread.study._settings import Settings


def make_recipe(settings: Settings) -> FieldRecipe:
    """Make the recipe of resolved settings."""
    own, images = settings.candidates, settings.images
    if settings.region.kind == "chest" or not isinstance(own.polarity, str):
        raise InvalidInputError("a recipe is of one group of labels of pictures that are no chests")
    stain = None if images.stain is None else (images.stain[0], images.stain[1], images.stain[2])
    return FieldRecipe(
        region=settings.region.kind,
        unit=settings.units.unit,
        colour=bool(images.colour),
        weights=images.weights if stain is None else None,
        stain=stain,
        finder=own.finder,
        polarity=own.polarity,
        smallest_mm=own.smallest_mm or nan,
        largest_mm=own.largest_mm or nan,
        target=next(iter(settings.labels.groups), "object"),
    )


def find_masks(images: pd.DataFrame, folder: Path, masks: str | None) -> dict[str, Path]:
    """Find the mask of every image: by its name in a folder, or by the column mask of the images table.

    Raises
    ------
    TableError
        If the table names none for an image.
    InvalidInputError
        If the folder has none for an image.
    """
    if masks is not None:
        paths = zip(images["image_id"], images["path"], strict=True)
        return {image_id: find_mask(folder / masks, Path(path)) for image_id, path in paths}
    cells = images["mask"].fillna("").astype("str") if "mask" in images else pd.Series("", index=images.index)
    if (cells == "").any():
        row = int((cells == "").to_numpy().argmax())
        raise TableError(
            f"images, row {row + 2}, column mask: there is no mask file (give its path relative to the folder, or name"
            " the folder of the masks: [images] masks)"
        )
    return {image_id: folder / cell for image_id, cell in zip(images["image_id"], cells, strict=True)}


def list_field_options(settings: Settings) -> dict[str, Any]:
    """Return plain options of `field_pipeline`, which a worker on another machine can be given."""
    recipe = to_json(make_recipe(settings))
    return {"recipe": recipe, "limit": settings.candidates.limit, "only": settings.features.only}


def field_pipeline(*, recipe: Mapping[str, Any], limit: int, only: list[str]) -> FieldPipeline:
    """Make the pipeline of pictures.

    Parameters
    ----------
    recipe
        A `FieldRecipe` as plain values.
    limit
        Most candidates of an image.
    only
        Patterns of the features to compute; none means all.
    """
    return FieldPipeline(from_json(FieldRecipe, recipe, "recipe"), limit, tuple(only))


class FieldPipeline:
    """Candidates and generic features of pictures.

    Attributes
    ----------
    recipe
        How pictures are read, searched and measured.
    limit
        Most candidates of an image.
    feature_names
        Features that are computed.
    """

    def __init__(self, recipe: FieldRecipe, limit: int, only: tuple[str, ...]) -> None:
        self.recipe, self.limit = recipe, limit
        self.finder = recipe.who_finds
        self.feature_names = [
            name
            for name in recipe.feature_names
            if not only or any(fnmatchcase(name, pattern) for pattern in only)
        ]
        if not self.feature_names:
            raise InvalidInputError(f"[features] only = {list(only)}: no feature of pictures has such a name")
        chosen = hashlib.sha256("\n".join(self.feature_names).encode()).hexdigest()
        made = digest_of_value(to_json(recipe))
        self.candidate_version = (
            f"{self.finder.name} {self.finder.version}, recipe {made[:16]}, at most {limit}"
        )
        self.feature_version = f"generic {GENERIC_VERSION}, {len(self.feature_names)} features {chosen[:16]}"

    def __call__(self, task: ImageTask) -> ImageWork:
        """Read the picture, find candidates unless they are known, and compute their features."""
        field = self.recipe.read(task.path, mm_per_px=task.mm_per_px, mask=task.mask)
        candidates, features = self.recipe.measure(
            field, self.feature_names, limit=self.limit, candidates=task.candidates
        )
        width, height = field.size_mm
        facts = {
            "pixel_hash": field.pixel_hash,
            "sketch": field.sketch,
            "width_mm": float(width),
            "height_mm": float(height),
            "source_mm_per_px": list(field.source_mm_per_px or ()),
            "source_shape": list(field.source_shape or ()),
            "region_share": float(field.region.mean()),
        }
        return ImageWork(candidates, features, facts)
