"""The design of a scenario: the content of ``design.toml``, and the points that it defines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from overread._sections import FpTargets, Positive, Section
from overread.apps.scenario._contenders import CONTENDERS
from overread.errors import InvalidInputError
from overread.study import Settings, parse_sections, parse_settings, read_toml

Count = Annotated[int, Field(ge=1, le=10_000_000)]
Counts = Annotated[list[Count], Field(min_length=1, max_length=50)]
Normalization = Literal["none", "bags", "class"]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Source(Section):
    """Source of images, candidates and features.

    Attributes
    ----------
    kind
        table: candidates and features drawn without pixels, in seconds. study: a study of ``overread simulate``,
        processed like a run. run: a finished run on your data, with its real marks.
    cohort
        Number of images for kind table; the other kinds have their own.
    test
        Number of images for testing only, by whole patients.
    study, run
        Folder of a simulated study; folder of a run (STUDY/runs/NAME).
    candidates
        Number of candidates to keep per image, those with the strongest response; 0: all.
    features
        For kind table: number of features. For the others: number to keep, drawn by the seed; 0: all.
    informative
        For kind table: number of informative features.
    workers
        Number of worker processes for images.
    """

    kind: Literal["table", "study", "run"] = "table"
    cohort: Count = 2000
    test: Count = 600
    study: str | None = None
    run: str | None = None
    candidates: Annotated[int, Field(ge=0)] = 0
    features: Annotated[int, Field(ge=0)] = 0
    informative: Annotated[int, Field(ge=0)] = 8
    workers: Count = 1

    @model_validator(mode="after")
    def _complete(self) -> Source:
        if self.kind != "table" and getattr(self, self.kind) is None:
            raise ValueError(f'[source] kind = "{self.kind}" needs {self.kind} = "..." as well')
        if self.kind == "table" and self.test >= self.cohort:
            raise ValueError(
                f"[source] test = {self.test} leaves no training images of cohort = {self.cohort}"
            )
        return self


class Readers(Section):
    """The readers; a run has real ones.

    Attributes
    ----------
    pool
        Number of readers, who share the images evenly.
    images_per_reader
        Number of images per reader at the design's most readings per image; after that, another pool with the same
        spread continues. 0: the pool reads all. Several numbers are several scenarios.
    skill_spread, threshold_spread
        Readers of a pool are spread evenly over plus and minus this value (docs/explanation/simulate.md, "Readers").
    false_marks
        Mean number of marks per reading on no object.
    lookalikes
        Mean number per image of structures that mislead all readers together; a simulated study has its own.
    test_readings
        Readings per test image, by readers with the same spread. They define consensus objects and shares.
    leave_out
        For a run. readings: drop some readings of each image. readers: drop whole readers; the numbers of ``readings``
        are then the readers that are kept, and images that none of them read are dropped too.
    """

    pool: Count = 8
    images_per_reader: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] = Field(default=[0])
    skill_spread: Annotated[float, Field(ge=0, le=5)] = 0.4
    threshold_spread: Annotated[float, Field(ge=0, le=5)] = 0.25
    false_marks: Annotated[float, Field(ge=0, le=20)] = 0.117
    lookalikes: Annotated[float, Field(ge=0, le=20)] = 0.25
    test_readings: Annotated[int, Field(ge=2, le=1000)] = 8
    leave_out: Literal["readings", "readers"] = "readings"


class Grid(Section):
    """The sizes of the training sets.

    Attributes
    ----------
    images
        Numbers of training images.
    readings
        Numbers of readings per image.
    """

    images: Counts = Field(default=[50, 100, 200, 400])
    readings: Counts = Field(default=[1, 2, 4, 8])

    @field_validator("images", "readings")
    @classmethod
    def _rising(cls, numbers: list[int]) -> list[int]:
        if sorted(set(numbers)) != numbers:
            raise ValueError("write different numbers in increasing order")
        return numbers


class Fit(Section):
    """The models, their tuning and their evaluation.

    Attributes
    ----------
    models
        Any of the contenders of docs/how-to/scenario.md.
    folds, choice_fp_targets, standard_errors
        Parameters of the rule that chooses the settings of all models (docs/reference/study.md).
    n_lambdas, min_ratio, normalizations
        Penalties of the models with a penalty.
    prune_bounds, screen, min_positives
        Options of B1 and B2.
    fp_targets
        False positives per image at which sensitivity is reported.
    n_bootstrap
        Number of bootstrap samples of test patients.
    """

    models: Annotated[list[str], Field(min_length=1)] = Field(default=[*CONTENDERS])
    folds: Annotated[int, Field(ge=2, le=100)] = 5
    choice_fp_targets: FpTargets = Field(default=[0.5, 1.0, 2.0])
    standard_errors: Annotated[float, Field(ge=0, le=10)] = 1.0
    n_lambdas: Annotated[int, Field(ge=2, le=1000)] = 15
    min_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.02
    normalizations: Annotated[list[Normalization], Field(min_length=1)] = Field(default=["bags"])
    prune_bounds: Annotated[list[Positive], Field(min_length=1)] = Field(default=[1e2, 1e4])
    screen: Annotated[int, Field(ge=1)] = 60
    min_positives: Annotated[int, Field(ge=1)] = 10
    fp_targets: FpTargets = Field(default=[0.5, 1.0, 2.0])
    n_bootstrap: Annotated[int, Field(ge=20, le=100_000)] = 200

    @field_validator("models")
    @classmethod
    def _known_and_once(cls, models: list[str]) -> list[str]:
        for name in models:
            if name not in CONTENDERS:
                raise ValueError(f"there is no model {name!r}. Choose from {', '.join(CONTENDERS)}")
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice")
        return models


@dataclass(frozen=True, order=True)
class Condition:
    """A training set: numbers of images, of readings per image, and of images per reader (0: no limit)."""

    images: int
    readings: int
    images_per_reader: int = 0

    @property
    def budget(self) -> int:
        """Total number of readings."""
        return self.images * self.readings


class Design(Section):
    """A whole design.

    Attributes
    ----------
    name
        Title of the page.
    seed
        Seed of the cohort, the test set and its readers.
    seeds
        Number of training sets per size; each has its own order of images, assignment of readers, and marks.
    source, readers, grid, fit
        See these classes.
    """

    name: str = "More images or more readings?"
    seed: Seed = 0
    seeds: Annotated[int, Field(ge=1, le=10_000)] = 5
    source: Source = Source()
    readers: Readers = Readers()
    grid: Grid = Grid()
    fit: Fit = Fit()

    @model_validator(mode="after")
    def _consistent(self) -> Design:
        most, source = max(self.grid.readings), self.source
        if source.kind != "run":
            if most > self.readers.pool:
                raise ValueError(
                    f"{most} readings per image need a pool of as many readers. Increase [readers] pool."
                )
            for own in self.readers.images_per_reader:
                if own and own * self.readers.pool < most:
                    raise ValueError(
                        f"[readers] images_per_reader = {own}: too few for one image. Increase it."
                    )
            if self.readers.leave_out == "readers":
                raise ValueError('[readers] leave_out = "readers": only for [source] kind = "run"')
        elif self.readers.images_per_reader != [0]:
            raise ValueError("[readers] images_per_reader: has no effect for a run. Remove it.")
        if source.kind == "table" and max(self.grid.images) > (left := source.cohort - source.test):
            raise ValueError(
                f"[grid] images: {max(self.grid.images)} images, but cohort - test leaves {left}"
            )
        return self

    @property
    def conditions(self) -> list[Condition]:
        """Every training set of a seed, the largest last."""
        sizes = product(self.grid.readings, self.grid.images, self.readers.images_per_reader)
        return [Condition(images, readings, own) for readings, images, own in sizes]

    def points(self) -> Iterator[tuple[int, Condition, str]]:
        """Every fit: seed, condition and model; seed by seed, so that a page of the first seeds is complete."""
        yield from product(range(self.seeds), self.conditions, self.fit.models)

    def settings(self) -> Settings:
        """Return the study settings for tuning and fitting by this design."""
        fit = self.fit
        rvm = {"prune_bounds": fit.prune_bounds, "screen": fit.screen}
        return parse_settings(
            {
                "seed": self.seed,
                "models": {
                    "folds": fit.folds,
                    "choice_fp_targets": fit.choice_fp_targets,
                    "standard_errors": fit.standard_errors,
                },
                "soft": {
                    "normalizations": fit.normalizations,
                    "n_lambdas": fit.n_lambdas,
                    "min_ratio": fit.min_ratio,
                },
                "b1": rvm,
                "b2": {**rvm, "min_positives": fit.min_positives, "n_bootstrap": 0},
            }
        )


def read_design(path: Path) -> Design:
    """Read a design; errors name the key and what to do. Paths are relative to the design's folder."""
    raw = read_toml(path, "overread scenario --demo shows an example")
    design = parse_sections(Design, raw, str(path))
    given = {
        name: str((path.parent / value).absolute())
        for name in ("study", "run")
        if (value := getattr(design.source, name)) is not None
    }
    for name, place in given.items():
        if not Path(place).exists():
            raise InvalidInputError(f"{path}, [source] {name} = {place!r}: no such file or folder")
    return design.model_copy(update={"source": design.source.model_copy(update=given)})


def demo_design() -> Design:
    """Return the small design of ``overread scenario --demo``."""
    return read_design(Path(str(files("overread.apps.scenario") / "demo.toml")))
