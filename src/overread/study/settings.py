"""Settings of a study: what ``study.toml`` may say, and what is meant where it says nothing."""

from __future__ import annotations

import math
import tomllib
from dataclasses import fields
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import pydantic
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from overread.errors import InvalidInputError
from overread.truth import HitRule, LabelOptions, MergeOptions, hit_rule_parameters, make_hit_rule

__all__ = ["Settings", "parse_settings", "read_settings"]

LARGEST_SEED = 2**32 - 1
LARGEST_FILE = 1 << 20
STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
FpTargets = Annotated[list[Positive], Field(min_length=1, max_length=50)]
ModelName = Literal["soft", "b1", "b2"]
Normalization = Literal["none", "bags", "class"]


class Section(BaseModel):
    """A table of the file: unknown keys and values of another type are refused."""

    model_config = STRICT


def section_of(options: type[Any]) -> type[Section]:
    """Make a table of the file out of a dataclass of options; the seed is the study's."""
    hints = get_type_hints(options)
    members: dict[str, Any] = {
        field.name: (hints[field.name], field.default) for field in fields(options) if field.name != "seed"
    }

    def checked(section: Section) -> Section:
        options(**dict(section))
        return section

    validators: dict[str, Any] = {"checked": pydantic.model_validator(mode="after")(checked)}
    return create_model(options.__name__, __base__=Section, __validators__=validators, **members)


if TYPE_CHECKING:

    class Merging(Section):
        """The fields of `MergeOptions`."""

    class Labels(Section):
        """The fields of `LabelOptions`."""

else:
    Merging, Labels = section_of(MergeOptions), section_of(LabelOptions)


class Inputs(Section):
    """Tables that take the place of a stage, relative to the study's folder."""

    candidates: str | None = None
    features: str | None = None
    derive_readings: bool = False


class Candidates(Section):
    """What is looked for in an image."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 60


class Features(Section):
    """Which features are computed; patterns as in a shell, such as ``"glcm_*"``."""

    only: list[str] = Field(default_factory=list)


class Hits(Section):
    """What a hit is, and what a candidate on a GT of one reader counts as in the choices the study makes."""

    rule: Literal["hit", "strict", "distance", "overlap"] = "hit"
    max_distance_mm: Positive | None = None
    min_overlap: Annotated[float, Field(ge=0, lt=1)] | None = None
    margin_mm: Annotated[float, Field(ge=0)] = 0.0
    single_reader: Literal["fp", "ignore"] = "ignore"

    def hit_rule(self) -> HitRule:
        """Return the rule by which bags are made and scores are judged."""
        own = {one.name for one in hit_rule_parameters()[self.rule]}
        return make_hit_rule(self.rule, **{name: value for name, value in dict(self).items() if name in own})

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Hits:
        try:
            self.hit_rule()
        except InvalidInputError as error:
            raise ValueError(str(error)) from error
        return self


class Soft(Section):
    """The path of penalties and the rule that chooses one (paper, section 6.1)."""

    normalizations: Annotated[list[Normalization], Field(min_length=1)] = ["bags", "class"]
    n_lambdas: Annotated[int, Field(ge=1, le=1000)] = 30
    min_ratio: Annotated[float, Field(gt=0, lt=1)] = 0.02
    divide_by_features: bool = False
    choice_fp_targets: FpTargets = Field(default_factory=lambda: [0.5, 1.0])
    tolerance: Fraction = 0.02
    max_gap: Fraction = 0.05
    pick: Literal["sparsest", "best"] = "sparsest"
    n_init: Annotated[int, Field(ge=1, le=100)] = 1


class Baseline(Section):
    """Settings among which B1 or B2 is tuned: every prune bound with every alpha."""

    prune_bounds: Annotated[list[Positive], Field(min_length=1)] = Field(
        default_factory=lambda: [1e1, 1e2, 1e4]
    )
    alpha_inits: Annotated[list[Positive], Field(min_length=1)] = Field(default_factory=lambda: [1.0])
    screen: Annotated[int, Field(ge=1)] | None = None
    tolerance: Fraction = 0.01
    max_iter: Annotated[int, Field(ge=1)] = 1000


class Mixture(Baseline):
    """B2, with what only the mixture has."""

    scores: Literal["in_sample", "out_of_fold"] = "in_sample"
    min_positives: Annotated[int, Field(ge=1)] = 10
    n_bootstrap: Annotated[int, Field(ge=0, le=100_000)] = 200


class Models(Section):
    """Which models are fitted."""

    wanted: Annotated[list[ModelName], Field(min_length=1)] = ["soft", "b1", "b2"]
    folds: Annotated[int, Field(ge=2, le=100)] = 5

    @field_validator("wanted")
    @classmethod
    def _once(cls, wanted: list[str]) -> list[str]:
        if len(set(wanted)) < len(wanted):
            raise ValueError("a model is named twice")
        return wanted


class Evaluation(Section):
    """What is measured, and how sure it is."""

    fp_targets: FpTargets = Field(default_factory=lambda: [0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    n_bootstrap: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    size_bins_mm: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2)] = Field(
        default_factory=lambda: [0.0, 10.0, 15.0, 20.0, 1000.0]
    )
    chance_shifts: Annotated[int, Field(ge=1, le=10_000)] = 20

    @field_validator("fp_targets", "size_bins_mm")
    @classmethod
    def _growing(cls, values: list[float]) -> list[float]:
        if any(after <= before for before, after in pairwise(values)):
            raise ValueError("the numbers must grow")
        return values


class Limits(Section):
    """What one image may cost before it is given up."""

    seconds_per_image: Positive = 300.0
    memory_mb: Annotated[int, Field(ge=64)] | None = None


class Execution(Section):
    """Who does the work on the images. The results do not depend on it."""

    executor: Literal["serial", "processes", "dask"] = "processes"
    workers: Annotated[int, Field(ge=1, le=1024)] | None = None
    scheduler: str | None = None
    batch: Annotated[int, Field(ge=1, le=10_000)] = 8


class Settings(Section):
    """Everything that ``study.toml`` may say."""

    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    inputs: Inputs = Inputs()
    merging: Merging = Merging()
    labels: Labels = Labels()
    candidates: Candidates = Candidates()
    features: Features = Features()
    hits: Hits = Hits()
    models: Models = Models()
    soft: Soft = Soft()
    b1: Baseline = Baseline()
    b2: Mixture = Mixture()
    evaluation: Evaluation = Evaluation()
    limits: Limits = Limits()
    execution: Execution = Execution()

    def merge_options(self) -> MergeOptions:
        """How marks are merged, with the study's seed."""
        return MergeOptions(**dict(self.merging), seed=self.seed)

    def label_options(self) -> LabelOptions:
        """How a number of readers becomes a probability."""
        return LabelOptions(**dict(self.labels))

    def plain(self) -> dict[str, Any]:
        """Every value, ready for JSON."""
        return self.model_dump(mode="json")


def read_settings(path: Path, *, seed: int | None = None) -> Settings:
    """Read a settings file; every mistake is named with its key and a remedy.

    Parameters
    ----------
    path
        A file in TOML.
    seed
        Takes the place of the file's seed.

    Raises
    ------
    InvalidInputError
        Naming the file, the key and the remedy.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise InvalidInputError(
            f"{path}: there is no such file (make one with: overread init {path.parent})"
        ) from None
    except IsADirectoryError:
        raise InvalidInputError(f"{path}: is a folder, not a settings file") from None
    if len(content) > LARGEST_FILE:
        raise InvalidInputError(f"{path}: larger than {LARGEST_FILE} bytes; this is not a settings file")
    try:
        raw = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path}: is not UTF-8 text (save it as UTF-8)") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InvalidInputError(f"{path}: is not TOML: {error}") from None
    if seed is not None:
        raw["seed"] = seed
    return parse_settings(raw, str(path))


def parse_settings(raw: dict[str, Any], place: str = "settings") -> Settings:
    """Check settings that were read; ``place`` begins the message of an error."""
    try:
        return Settings.model_validate(raw)
    except ValidationError as error:
        told = [described(fault) for fault in error.errors()[:5]]
        raise InvalidInputError(f"{place}, " + "; ".join(told)) from None


def described(fault: Any) -> str:
    """Key, what is wrong and the remedy of one fault that pydantic found."""
    location = [part for part in fault["loc"] if not str(part).startswith("function-")]
    name = key_of(location)
    if fault["type"] == "extra_forbidden" and location[-1] == "seed":
        return f"{name}: the study has one seed (write seed = ... at the top of the file)"
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(str(location[-1]), known_keys(location[:-1]), n=1, cutoff=0.5)
        known = f"did you mean {near[0]}?" if near else f"known: {', '.join(known_keys(location[:-1]))}"
        return f"{name}: there is no such key ({known})"
    found = shown(fault.get("input"))
    message = str(fault["msg"]).removeprefix("Value error, ")
    return f"{name} = {found}: {message[:1].lower()}{message[1:]}"


def key_of(location: list[Any]) -> str:
    """Write a key as it stands in the file: ``[section] key``."""
    if len(location) < 2:
        return str(location[0]) if location else "the file"
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location[1:])
    return f"[{location[0]}] {place.removeprefix('.')}"


def known_keys(location: list[Any]) -> list[str]:
    """Keys that a table of the file may have."""
    if not location:
        return list(Settings.model_fields)
    section: Any = Settings.model_fields.get(str(location[0]))
    return [] if section is None else list(getattr(section.annotation, "model_fields", {}))


def shown(value: Any) -> str:
    """Value of the file, short."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
