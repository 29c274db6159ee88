"""Chest radiographs: measured in mm on one grid, searched in the lungs, with the features of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from overread._text import shell_word
from overread.domains._domain import Domain, DomainImage, ImageTask, Plain, SeenImage, StudyFacts
from overread.domains._finders import DEFAULT_FINDER, CandidateFinder, load_finder
from overread.domains.chest._lungs import LungFields, find_lungs
from overread.errors import ImageError, InvalidInputError, ModelFileError
from overread.features import CATALOGUE, FEATURE_VERSION, Anatomy, Quality, extract_features, say_in_words
from overread.images import (
    GRID_MM,
    Radiograph,
    SourceImage,
    choose_spacing,
    radiograph,
    read_channels,
    read_image,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Below this a picture is said to be no frontal chest: 3 of 281 frontal NIH radiographs are, and so is each left half of
# 60 of them, which shows one lung as a lateral view does (largest 0.31). No lateral views were at hand.
LEAST_SYMMETRY = 0.33
# Images that are looked at, spread over the study. Set by judgement: half of them being wrong is then no accident.
N_LOOKED_AT = 12
REMEDY = (
    'if the images are not chest radiographs, set where to look: [region] kind = "field_of_view", "masks" or "all" in'
    " study.toml (docs/explanation/fields.md)"
)
# Set by judgement: a nodule with its surroundings.
CROP_MM = 60.0
# A circle stays this far from the border; the grid may end a fraction of its pixel beyond the image.
BORDER_MM = 1.0
# A nodule of 5 mm needs some pixels; a chest of 400 mm must not give more than 16 million.
SMALLEST_GRID_MM, LARGEST_GRID_MM = 0.1, 5.0


@dataclass(frozen=True)
class ChestDomain(Domain):
    """Chest radiographs: reading, search and features, on a grid of ``grid_mm``."""

    finder: str = DEFAULT_FINDER
    grid_mm: float = GRID_MM

    name = "chest"
    kinds = ("chest",)
    units = ("mm",)
    unit = "mm"
    thing = "nodule"
    target = "Nodule"
    findings = None
    depends_on_study = False
    feature_version = FEATURE_VERSION

    def __post_init__(self) -> None:
        if type(self.grid_mm) not in (int, float):
            raise ModelFileError("grid_mm is not a number")
        if not SMALLEST_GRID_MM <= self.grid_mm <= LARGEST_GRID_MM:
            raise ModelFileError(
                f"grid_mm is {self.grid_mm:g}: not {SMALLEST_GRID_MM:g} to {LARGEST_GRID_MM:g}"
            )

    @classmethod
    def from_settings(cls, settings: Plain) -> Self:
        """Take the finder of the settings."""
        return cls(settings["candidates"]["finder"])

    @classmethod
    def complete(cls, settings: Plain, given: Set[str], facts: StudyFacts) -> dict[str, Any]:
        """Refuse what a run of chests would silently not use; nothing depends on the study."""
        unset = [f"candidates.{name}" for name in ("smallest", "largest")]
        unset = [key for key in unset if settings["candidates"][key.partition(".")[2]] is None]
        for key in sorted(given - {*unset}):
            section, _, name = key.partition(".")
            if section == "images" or key in (
                "candidates.polarity",
                "candidates.smallest",
                "candidates.largest",
            ):
                raise InvalidInputError(
                    f"[{section}] {name}: is only for images that are not chest radiographs; set kind in [region]"
                    ' ("field_of_view", "masks" or "all")'
                )
        return {}

    @classmethod
    def read_to_show(cls, path: Path, mm_per_px: tuple[float, float] | None, settings: Plain) -> Radiograph:
        """Read a radiograph."""
        return read_image(path, mm_per_px=mm_per_px)

    @classmethod
    def crop_side(cls, settings: Plain) -> float:
        """Return the side of a nodule with its surroundings."""
        return CROP_MM

    @classmethod
    def describe_processing(cls, settings: Plain) -> str:
        """Name the grid."""
        return f"pixels resampled to {GRID_MM:g} mm, brightness normalized by percentiles; no display window"

    @classmethod
    def describe_feature(cls, name: str) -> tuple[str, str]:
        """Look it up in the catalogue."""
        feature = CATALOGUE.get(name)
        if feature is None:
            return "", ""
        unit = "" if feature.unit == "1" else f" [{feature.unit}]"
        return f"{feature.formula}{unit}", say_in_words(name)

    @classmethod
    def claims(cls, images: Sequence[SeenImage]) -> bool:
        """Whether they may be chests: not where most of those that can be measured have no pair of lungs."""
        judged = [image.has_lungs for image in images if image.has_lungs is not None]
        return 2 * judged.count(False) <= len(judged)

    @classmethod
    def doubt(cls, images: Sequence[SeenImage]) -> tuple[str, str] | None:
        """Doubt a study in most of whose images no pair of lungs is seen."""
        if cls.claims(images):
            return None
        return (
            "in most images no pair of lungs is seen, and [region] kind is chest",
            'set kind to "field_of_view", "masks" or "all" (docs/explanation/fields.md)',
        )

    @classmethod
    def suggest(
        cls, folder: Path, images: pd.DataFrame, marks: pd.DataFrame | None, *, kind: str | None
    ) -> dict[str, dict[str, Any]]:
        """Propose nothing: study.toml is of chests as it comes."""
        return {}

    @classmethod
    def advise(cls, folder: Path, kinds: Set[str], *, has_marks: bool) -> tuple[list[str], list[str]]:
        """Name the way out for other pictures."""
        if "not-frontal" not in kinds:
            return [], []
        command = f"overread init {shell_word(folder)} --region field_of_view --overwrite"
        return [f"Pictures of something else than chests: {command}"], []

    def refuse_strangers(self, tasks: Sequence[ImageTask]) -> None:
        """Stop where in most of some images a lung is not seen, or the picture is in colour.

        A lung that is not seen is replaced by a guess (`overread.domains.chest._lungs`), which single images may need;
        a study of guesses would run to its end and mean nothing. On NIH radiographs a guess is rare
        (docs/explanation/fields.md).
        """
        step = max(len(tasks) // N_LOOKED_AT, 1)
        seen = [_shows_chest(task) for task in list(tasks[::step])[:N_LOOKED_AT]]
        n_wrong, n_judged = seen.count(False), len(seen) - seen.count(None)
        if 2 * n_wrong > n_judged:
            raise InvalidInputError(
                f"in {n_wrong} of {n_judged} images that were looked at no pair of lungs is seen; {REMEDY}"
            )

    @cached_property
    def candidate_finder(self) -> CandidateFinder:
        """Load the finder."""
        return load_finder(self.finder)

    @property
    def feature_names(self) -> Sequence[str]:
        """All of the catalogue."""
        return list(CATALOGUE)

    def check_names(self, wanted: Sequence[str]) -> list[str]:
        """Let the catalogue name what is nearest."""
        return list(CATALOGUE.check_names(wanted)) or list(CATALOGUE)

    def read(self, path: str | Path, *, mm_per_px: Any = None, mask: str | Path | None = None) -> Radiograph:
        """Read a radiograph on the grid."""
        return read_image(path, mm_per_px=mm_per_px, grid_mm=self.grid_mm)

    def check_image(self, image: DomainImage) -> None:
        """Refuse another grid, on which features would be others."""
        if not isinstance(image, Radiograph):
            raise InvalidInputError("the image is not a radiograph: read it with read_image")
        if abs(image.mm_per_px - self.grid_mm) > 1e-9:
            raise InvalidInputError(
                f"the radiograph has a grid of {image.mm_per_px:g} mm, the detector one of {self.grid_mm:g} mm: "
                f"read it with grid_mm={self.grid_mm:g}"
            )

    def find_regions(self, image: Any) -> Anatomy:
        """Find lungs, ribs and the rest of the anatomy."""
        from overread.domains.chest._anatomy import find_anatomy

        return find_anatomy(image)

    def extract(
        self,
        image: Any,
        candidates: pd.DataFrame,
        regions: Any,
        names: Sequence[str],
        *,
        n_threads: int | None = None,
    ) -> pd.DataFrame:
        """Compute features of the catalogue."""
        return extract_features(image, candidates, regions, features=list(names), n_threads=n_threads)

    def facts(self, image: Any) -> dict[str, Any]:
        """Add the source of the pixel size."""
        facts = super().facts(image)
        source = {"spacing_source": str(image.spacing_source)}
        first = ("pixel_hash", "sketch", "width_mm", "height_mm")
        return {name: facts.pop(name) for name in first} | source | facts

    def document_border(self, image: DomainImage) -> float:
        """Stay within the last pixel of the grid."""
        return BORDER_MM

    def draw(self, image: Any, regions: Any, candidates: pd.DataFrame, title: str) -> Figure:
        """Draw lungs, mediastinum, clavicles and ribs."""
        from overread.domains._plots import overlay_figure

        return overlay_figure(image, regions, candidates, title=title)

    def describe_regions(self, image: DomainImage, regions: Any) -> tuple[dict[str, Any], str]:
        """Say how far each structure is to be trusted."""
        quality = {name: str(value) for name, value in regions.quality.items()}
        return {"quality": quality}, ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in quality.items()
        )

    def to_record(self) -> dict[str, Any]:
        """Return finder, versions and grid."""
        return self.versions_record() | {"grid_mm": self.grid_mm}

    @classmethod
    def from_record(cls, record: Plain) -> Self:
        """Take finder and grid."""
        return cls(record["finder"], record["grid_mm"])


def _shows_chest(task: ImageTask) -> bool | None:
    """Whether both lungs are seen in an image; None where it cannot be read for another reason than its colours."""
    try:
        return sees_both(find_lungs(read_image(task.path, mm_per_px=task.mm_per_px)))
    except ImageError:
        try:
            return None if read_channels(task.path).shape[2] == 1 else False
        except ImageError:
            return None


def sees_both(lungs: LungFields) -> bool:
    """Whether neither lung is a guess."""
    return Quality.FALLBACK not in (lungs.left_quality, lungs.right_quality)


def judge_view(source: SourceImage, spacing: tuple[float, float] | None) -> tuple[bool | None, bool | None]:
    """Return whether an image shows two lungs side by side; None if this cannot be measured."""
    if spacing is None:
        return None, None
    try:
        lungs = find_lungs(radiograph(source, choose_spacing(source.spacing, spacing)))
    except InvalidInputError:
        return None, None
    return measure_symmetry(lungs) >= LEAST_SYMMETRY, sees_both(lungs)


def measure_symmetry(fields: LungFields) -> float:
    """Overlap over union of the right lung and the left one, mirrored about the middle; 0 where one is missing.

    It is high where two lungs lie side by side, as in a frontal view and not in a lateral one.
    """
    if not (fields.left.any() and fields.right.any()):
        return 0.0
    middle = (np.nonzero(fields.left)[1].mean() + np.nonzero(fields.right)[1].mean()) / 2
    width = fields.left.shape[1]
    source = np.round(2 * middle - np.arange(width)).astype(int)
    inside = (source >= 0) & (source < width)
    mirrored = np.zeros_like(fields.left)
    mirrored[:, inside] = fields.left[:, source[inside]]
    union = (mirrored | fields.right).sum()
    return float((mirrored & fields.right).sum() / union)
