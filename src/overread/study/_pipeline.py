"""Where what is done with an image is made, so that a worker elsewhere makes the same without receiving code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from overread import __version__
from overread.domains import ImageTask, ImageWork, domain_of

if TYPE_CHECKING:
    from overread.study._settings import Settings


OWN_FACTORY = "overread.domains:image_pipeline"


class Pipeline(Protocol):
    """Processes images one by one, each independent of the others."""

    candidate_version: str
    """Changes whenever the same image would give other candidates; options of the pipeline count."""

    feature_version: str
    """Changes whenever the same candidates would give other features; options count."""

    def __call__(self, task: ImageTask) -> ImageWork:
        """Work on one image; raises an `overread.errors.OverreadError` for an image that cannot be used."""
        ...


@dataclass(frozen=True)
class Versions:
    """Of the code that works on images: of the package, and of the pipeline's candidates and features."""

    overread: str
    candidates: str
    features: str

    @classmethod
    def of(cls, pipeline: object) -> Versions:
        """Return the versions of a pipeline of this process; one that is not of a study has none of its own."""
        names = ("candidate_version", "feature_version")
        return cls(__version__, *(getattr(pipeline, name, "") for name in names))

    def __str__(self) -> str:
        return f"overread {self.overread}, candidates {self.candidates!r}, features {self.features!r}"


@dataclass(frozen=True)
class PipelineSpec:
    """Factory of a pipeline: ``"module:function"``, called with plain options."""

    factory: str = OWN_FACTORY
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def own(cls, settings: Settings) -> PipelineSpec:
        """Return the built-in pipeline with a study's settings."""
        plain = settings.to_plain()
        return cls(
            options={
                "domain": domain_of(plain).from_settings(plain).to_record(),
                "limit": settings.candidates.limit,
                "only": settings.features.only,
                **({"exclude": settings.features.exclude} if settings.features.exclude else {}),
            }
        )

    @property
    def is_own(self) -> bool:
        """Whether it is the built-in pipeline: only then can a detector process new images in the same way."""
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

    def plain(self) -> dict[str, object]:
        """Name and options, ready for JSON."""
        return {"factory": self.factory, "options": dict(self.options)}
