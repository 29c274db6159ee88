"""What is done with one image: candidates and their features.

A pipeline is named by the place of its factory and plain options, so that a worker process, here or on another
machine, can build the same one without receiving code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from overread import __version__
from overread._text import short_repr
from overread.errors import InvalidInputError

if TYPE_CHECKING:
    from overread.domains import CandidateFinder
    from overread.features import Anatomy
    from overread.images import Radiograph
    from overread.study._settings import Settings


OWN_FACTORY = "overread.study._pipeline:image_pipeline"
FIELD_FACTORY = "overread.study._picture_pipeline:field_pipeline"


@short_repr()
@dataclass(frozen=True)
class ImageTask:
    """One image to work on.

    Attributes
    ----------
    image_id
        The study's id of the image.
    path
        Its file.
    mm_per_px
        Size of a pixel (x, y) where the study gives it, else None: then the file has to say.
    candidates
        Candidates that are known already: given by the study, or found by an earlier run. None: find them.
    sha256
        Digest of the file under which the outcome will be kept; None: it is not kept.
    mask
        File of the region, where it comes from masks; else None.
    """

    image_id: str
    path: str
    mm_per_px: tuple[float, float] | None = None
    candidates: pd.DataFrame | None = field(default=None, compare=False)
    sha256: str | None = None
    mask: str | None = None


@short_repr()
@dataclass(frozen=True, eq=False)
class ImageWork:
    """What a pipeline makes of an image.

    Attributes
    ----------
    candidates
        candidate_id, x_mm, y_mm, radius_mm, response.
    features
        candidate_id and one float32 column a feature, in the same order of rows.
    facts
        Plain values about the image: ``pixel_hash`` and ``sketch``, by which copies are found, ``width_mm``, ...
    """

    candidates: pd.DataFrame
    features: pd.DataFrame
    facts: Mapping[str, Any]


class Pipeline(Protocol):
    """Works on images one by one; has no memory of earlier ones."""

    candidate_version: str
    """Changes whenever the same image would give other candidates; options of the pipeline count."""

    feature_version: str
    """Changes whenever the same candidates would give other features; options count."""

    def __call__(self, task: ImageTask) -> ImageWork:
        """Work on one image; raises an `overread.errors.OverreadError` for an image that cannot be used."""
        ...


@dataclass(frozen=True)
class Versions:
    """Of the code that works on images.

    Attributes
    ----------
    overread
        Of the package.
    candidates, features
        Of the pipeline.
    """

    overread: str
    candidates: str
    features: str

    @classmethod
    def of(cls, pipeline: Any) -> Versions:
        """Return the versions of a pipeline of this process; one that is not of a study has none of its own."""
        names = ("candidate_version", "feature_version")
        return cls(__version__, *(getattr(pipeline, name, "") for name in names))

    def __str__(self) -> str:
        return f"overread {self.overread}, candidates {self.candidates!r}, features {self.features!r}"


@dataclass(frozen=True)
class PipelineSpec:
    """Where a pipeline is made: ``"module:function"``, called with plain options."""

    factory: str = OWN_FACTORY
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def own(cls, settings: Settings) -> PipelineSpec:
        """Return the package's own pipeline under a study's settings, of chests or of other pictures."""
        if not settings.region.is_chest:
            from overread.study._picture_pipeline import list_field_options

            return cls(FIELD_FACTORY, list_field_options(settings))
        own = settings.candidates
        return cls(options={"finder": own.finder, "limit": own.limit, "only": settings.features.only})

    @property
    def is_own(self) -> bool:
        """Whether it is the package's own: only then can a detector do on new images what was done here."""
        return self.factory in (OWN_FACTORY, FIELD_FACTORY)

    @property
    def is_of_chests(self) -> bool:
        """Whether it is the package's own pipeline of chest radiographs."""
        return self.factory == OWN_FACTORY

    @property
    def comes_with_the_package(self) -> bool:
        """Whether its code is the package's, so that no other folder need be searched for it."""
        return self.factory.startswith("overread.")

    def build(self) -> Pipeline:
        """Make the pipeline."""
        module, _, name = self.factory.partition(":")
        made: Pipeline = getattr(import_module(module), name)(**self.options)
        return made

    def plain(self) -> dict[str, Any]:
        """Name and options, ready for JSON."""
        return {"factory": self.factory, "options": dict(self.options)}


def image_pipeline(*, finder: str, limit: int, only: list[str]) -> Pipeline:
    """Make the pipeline of this package: read, find lungs and candidates, compute features.

    Parameters
    ----------
    finder
        Name of the candidate finder.
    limit
        Most candidates of an image.
    only
        Patterns of the features to compute; none means all.
    """
    return OwnPipeline(finder, limit, tuple(only))


class OwnPipeline:
    """Candidates and features as the stages of this package make them.

    Attributes
    ----------
    finder
        Who looks for candidates.
    limit
        Most candidates of an image.
    feature_names
        Features that are computed.
    """

    def __init__(self, finder: str, limit: int, only: tuple[str, ...]) -> None:
        from overread.domains import load_finder
        from overread.features import CATALOGUE, FEATURE_VERSION

        self.finder = load_finder(finder)
        self.limit = limit
        self.feature_names = [
            name for name in CATALOGUE if not only or any(fnmatchcase(name, pattern) for pattern in only)
        ]
        if not self.feature_names:
            raise InvalidInputError(f"[features] only = {list(only)}: no feature has such a name")
        chosen = hashlib.sha256("\n".join(self.feature_names).encode()).hexdigest()
        self.candidate_version = f"{self.finder.name} {self.finder.version}, at most {limit}"
        self.feature_version = f"{FEATURE_VERSION}, {len(self.feature_names)} features {chosen[:16]}"

    def __call__(self, task: ImageTask) -> ImageWork:
        """Read the image, find candidates unless they are known, and compute their features."""
        from overread.images import read_image

        radiograph = read_image(task.path, mm_per_px=task.mm_per_px)
        candidates, features = measure_image(
            radiograph,
            self.feature_names,
            finder=self.finder,
            limit=self.limit,
            candidates=task.candidates,
            n_threads=1,
        )
        width, height = radiograph.size_mm
        facts = {
            "pixel_hash": radiograph.pixel_hash,
            "sketch": radiograph.sketch,
            "width_mm": float(width),
            "height_mm": float(height),
            "spacing_source": str(radiograph.spacing_source),
            "source_mm_per_px": [float(side) for side in radiograph.source_mm_per_px],
            "source_shape": [int(side) for side in radiograph.source_shape],
        }
        return ImageWork(candidates, features, facts)


def measure_image(
    radiograph: Radiograph,
    features: Sequence[str],
    *,
    finder: CandidateFinder,
    limit: int,
    candidates: pd.DataFrame | None = None,
    regions: Anatomy | None = None,
    n_threads: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the candidates of an image and their features, in the same order.

    Parameters
    ----------
    radiograph
        The image.
    features
        Names of the features to compute.
    finder, limit
        Who looks for candidates, and how many at most.
    candidates, regions
        Candidates and anatomy, where they are known already.
    n_threads
        Threads that compute features; None: as many as there are processors.
    """
    from overread.domains import find_anatomy, find_candidates
    from overread.features import extract_features

    regions = find_anatomy(radiograph) if regions is None else regions
    if candidates is None:
        candidates = find_candidates(radiograph, anatomy=regions, finder=finder, limit=limit)
    values = extract_features(radiograph, candidates, regions, features=list(features), n_threads=n_threads)
    return candidates.reset_index(drop=True), values
