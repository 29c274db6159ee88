"""Settings of a study: the keys of ``study.toml``, their defaults, and the file that `init` writes."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from overread._sections import FpTarget, FpTargets, Fraction, Positive, Section, describe_keys, make_section
from overread._text import shell_word
from overread.bags import is_division
from overread.domains import (
    DEFAULT_FINDER,
    DEFAULT_LIMIT,
    Polarity,
    get_domain,
    list_all_finders,
    list_finders,
    list_kinds,
)
from overread.errors import InvalidInputError
from overread.files import read_capped
from overread.froc import (
    CHANCE_SHIFTS,
    CHOICE_FP_TARGETS,
    FP_TARGETS,
    LEVEL,
    N_BOOTSTRAP,
    OPERATING_FP,
    REPEATS,
    SINGLE_READER,
    SIZE_BINS_MM,
    check_draws,
    nearest_to,
)
from overread.study._presets import PRESETS, lay_over
from overread.study.models import DEFAULT_MODELS, MODELS
from overread.tables import LengthUnit
from overread.truth import (
    FULL_SIZE_MM,
    HIT,
    HIT_RULES,
    HitRule,
    LabelOptions,
    MergeOptions,
    hit_rule_parameters,
    make_hit_rule,
)

PlaneName = Literal["luminance", "red", "green", "blue", "red_green", "yellow_blue"]
Weights = Annotated[list[float], Field(min_length=3, max_length=3)]


class Region(Section):
    """Part of an image that is searched for objects.

    Attributes
    ----------
    kind
        chest: the lungs of a chest radiograph. field_of_view: the largest bright area of another image. masks: the area
        in the images' mask files. all: the whole image.
    """

    kind: str = "chest"

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in list_kinds():
            raise ValueError(f"use one of {', '.join(list_kinds())}")
        return kind


class Units(Section):
    """Unit of all lengths.

    Attributes
    ----------
    unit
        mm, px (pixels) or percent (per cent of the image width). Marks are converted to it; full_size, min_semi_axis,
        margin, max_distance, size_bins, smallest and largest are in it. px and percent need no pixel size; chest
        radiographs need mm.
    """

    unit: LengthUnit = "mm"


class Images(Section):
    """How images other than chest radiographs are read.

    Attributes
    ----------
    plane
        Plane of a colour image that is searched: luminance, red, green, blue, red_green (r - g), yellow_blue
        ((r + g) / 2 - b), or weights of red, green and blue such as [0.0, 1.0, 0.5].
    stain
        Absorbance of a stain in red, green and blue. If set, the amount of this stain is searched instead of a plane.
    colour
        Whether features are computed from all colours. Without this key: yes if the first image is in colour.
    masks
        Folder of mask files that have the names of their images. Without this key: the column mask of the images
        table.
    """

    plane: PlaneName | Weights = "luminance"
    stain: Weights | None = Field(default=None, examples=[[0.65, 0.7, 0.29]])
    colour: bool | None = Field(default=None, examples=[True])
    masks: str | None = Field(default=None, examples=["masks"])

    @model_validator(mode="after")
    def _one_plane(self) -> Images:
        if self.stain is not None and self.plane != "luminance":
            raise ValueError("plane and stain exclude each other (set one of them)")
        for name in ("plane", "stain"):
            value = getattr(self, name)
            if isinstance(value, list) and not any(value):
                raise ValueError(f"{name} has three zeros (at least one number must not be 0)")
        return self


Sections = TypeVar("Sections", bound=Section)

LARGEST_SEED = 2**32 - 1
LARGEST_FILE = 1 << 20
# Part of the name of a run's folder.
GROUP_NAME = r"^[A-Za-z0-9_]{1,40}$"

if TYPE_CHECKING:

    class Merging(Section):
        """The fields of `MergeOptions`."""

        full_size: float | None = None

    class LabelSection(Section):
        """The fields of `LabelOptions`."""

else:
    Merging, LabelSection = make_section(MergeOptions), make_section(LabelOptions)


class Labels(LabelSection):
    """How marks become soft labels, and which categories of marks belong together.

    Attributes
    ----------
    reader_weights
        Whether a bag is weighted by the share of readers who read its image (a_mu in the paper's appendix). If false,
        all bags have the same weight.
    groups
        Groups of mark labels, by name. Each group gets its own objects, models and detector; one page shows all groups.
        Empty: all marks belong to one kind of object. For example
        {exudates = ["Hard_exudates"], red = ["Haemorrhages", "Red_small_dots"]}.
    """

    reader_weights: bool = True
    groups: dict[Annotated[str, Field(pattern=GROUP_NAME)], Annotated[list[str], Field(min_length=1)]] = (
        Field(default_factory=dict)
    )

    @field_validator("groups")
    @classmethod
    def _each_label_once(cls, groups: dict[str, list[str]]) -> dict[str, list[str]]:
        taken: dict[str, str] = {}
        for name, labels in groups.items():
            for label in labels:
                if taken.setdefault(label, name) != name:
                    raise ValueError(
                        f"the label {label!r} is in the groups {taken[label]} and {name} (keep it in one)"
                    )
        return groups

    def make_options(self) -> LabelOptions:
        """Return the options of the soft labels."""
        return LabelOptions(**{name: getattr(self, name) for name in LabelSection.model_fields})


class OwnTables(Section):
    """Tables that replace a stage of the run; paths are relative to the study folder.

    Attributes
    ----------
    candidates
        Your own candidates: image_id, candidate_id, x_mm, y_mm, radius_mm (or _px, _percent), response.
    features
        Your own features of these candidates: image_id, candidate_id and one column per feature.
    adjudication
        A chair's decisions on objects on which readers disagree, as the reading room writes them. Lesions become
        consensus objects with probability 1; objects judged not to be lesions are removed. Marks do not change.
    derive_readings
        Without a readings table, assume that readers read exactly the images that they marked.
    """

    candidates: str | None = Field(default=None, examples=["candidates.csv"])
    features: str | None = Field(default=None, examples=["features.parquet"])
    adjudication: str | None = Field(default=None, examples=["adjudication.csv"])
    derive_readings: bool = False


class Parts(Section):
    """Shares of the patient split, if the images table gives none; they add up to 1.

    Attributes
    ----------
    training
        Share of images and consensus objects for training.
    validation
        Share for validation, on which the paper's rule is evaluated. Cross-validation chooses settings on training and
        validation together.
    test
        Share for the test set, which only the final evaluation uses. It may be 0 only with headline = "nested".
    """

    training: Fraction = 1 / 3
    validation: Fraction = 1 / 3
    test: Fraction = 1 / 3

    @model_validator(mode="after")
    def _together_one(self) -> Parts:
        needed = [self.training, self.validation, *([self.test] if self.test else [])]
        if not is_division(needed):
            raise ValueError(
                f"training {self.training:g}, validation {self.validation:g} and test {self.test:g} must be above 0"
                " and add up to 1 (only test may be 0)"
            )
        return self


class Candidates(Section):
    """How candidates are found.

    Attributes
    ----------
    finder
        Finder of the candidates. For chest radiographs: curvature or log (docs/reference/candidates.md). For other
        images: blobs (the default) or one of your own (docs/explanation/fields.md).
    limit
        Maximum number of candidates per image. Without this key, 250 for images other than chest radiographs.
    polarity
        Only for images other than chest radiographs: bright, dark or both, or one of these for each group.
    smallest, largest
        Only for images other than chest radiographs: range of radii that are searched. Without these keys, the 10th and
        the 50th percentile of the radii of the marks.
    """

    finder: str = DEFAULT_FINDER
    limit: Annotated[int, Field(ge=1, le=10_000)] = DEFAULT_LIMIT
    polarity: Polarity | dict[str, Polarity] = "both"
    smallest: Positive | None = Field(default=None, examples=[5.0])
    largest: Positive | None = Field(default=None, examples=[15.0])

    @field_validator("finder")
    @classmethod
    def _known(cls, finder: str) -> str:
        known = list_all_finders()
        if finder not in known:
            raise ValueError(
                f"there is no such finder (use {' or '.join(known)}, or install the package that has it)"
            )
        return finder


class FeatureChoice(Section):
    """Which features are computed.

    Attributes
    ----------
    only
        Patterns of feature names; empty: all features. For example ["glcm_*", "shape.*"].
    exclude
        Patterns of feature names to leave out. For example ["learned.*"].
    """

    only: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)


class HitsBase(Section):
    """When a candidate hits an object, and how candidates on single-reader objects count."""

    rule: str = HIT.name
    single_reader: Literal["fp", "ignore"] = Field(default=SINGLE_READER)  # type: ignore[arg-type]
    repeats: Literal["suppress", "count"] = REPEATS

    def hit_rule(self) -> HitRule:
        """Return the hit rule for bags and evaluation; numbers that are not set have the rule's defaults."""
        numbers = {name: value for name, value in dict(self).items() if name not in HitsBase.model_fields}
        return make_hit_rule(
            self.rule, **{name: value for name, value in numbers.items() if value is not None}
        )

    @model_validator(mode="after")
    def _complete(self) -> HitsBase:
        try:
            self.hit_rule()
        except InvalidInputError as error:
            raise ValueError(str(error)) from error
        return self


def _make_hits() -> type[HitsBase]:
    """Make the section out of the registry of hit rules: every number of any rule is a key."""
    rules = [*hit_rule_parameters().values()]
    # Of rules that share a number the first one's default is the example.
    numbers = {one.name: one for rule in reversed(rules) for one in rule}
    owners = {
        name: [rule for rule, own in hit_rule_parameters().items() if name in {one.name for one in own}]
        for name in numbers
    }
    told = [f"rule\n    {'; '.join(f'{name}: {rule.sentence}' for name, rule in HIT_RULES.items())}."]
    told += [
        f"{name}\n    For the rule {' or '.join(owners[name])}: {one.description}"
        for name, one in numbers.items()
    ]
    told += [
        "single_reader\n    How candidates on single-reader objects count: ignore (not at all) or fp (false "
        "positives). Both are reported.",
        "repeats\n    Candidates that lie on a stronger one: suppress (not shown) or count (as in the paper).",
    ]
    return create_model(
        "Hits",
        __base__=HitsBase,
        __doc__="\n".join([str(HitsBase.__doc__), "", "Attributes", "----------", *told]),
        **{
            name: (float | None, Field(default=None, examples=[one.example])) for name, one in numbers.items()
        },
    )  # type: ignore[call-overload]


if TYPE_CHECKING:

    class Hits(HitsBase):
        """The numbers of all hit rules."""

else:
    Hits = _make_hits()


class Models(Section):
    """Which models are fitted.

    Attributes
    ----------
    wanted
        Any of the models below, by the names of their sections. Out-of-fold scores decide which one becomes
        the detector.
    folds
        Number of folds of the cross-validation that chooses settings and locks thresholds.
    choice_fp_targets
        Numbers of false positives per image over which the sensitivity of a setting is averaged.
    standard_errors
        Number of standard errors within which differences in sensitivity count as none: differences between a sparser
        setting and the best one, and those that the paper's rule for the penalty bounds.
    """

    wanted: Annotated[list[str], Field(min_length=1)] = Field(default_factory=lambda: [*DEFAULT_MODELS])
    folds: Annotated[int, Field(ge=2, le=100)] = 5
    choice_fp_targets: FpTargets = Field(default_factory=lambda: [*CHOICE_FP_TARGETS])
    standard_errors: Annotated[float, Field(ge=0, le=10)] = 1.0

    @field_validator("wanted")
    @classmethod
    def _known_and_once(cls, wanted: list[str]) -> list[str]:
        for name in wanted:
            if name not in MODELS:
                raise ValueError(f"there is no model {name!r} (use any of {', '.join(MODELS)})")
        if len(set(wanted)) < len(wanted):
            raise ValueError("a model is named twice")
        return wanted


class Evaluation(Section):
    """What is measured, and with which intervals.

    Attributes
    ----------
    fp_targets
        Numbers of false positives per image at which sensitivity is reported.
    operating_fp
        Number of false positives per image at which the detector works and which the report shows first; rounded to the
        nearest of fp_targets.
    thresholds
        Scores of training + validation that lock the thresholds: out_of_fold (from models that did not see the patient)
        or in_sample (as in the paper).
    objects
        Consensus objects in Table 1: all, or reached (only those that a candidate hits, as in the paper).
    n_bootstrap
        Number of bootstrap samples of patients for the intervals.
    level
        Confidence level of the intervals.
    size_bins
        Edges of the size classes for which sensitivity is reported.
    chance_shifts
        Number of pairings of images for the chance level.
    subgroups
        Columns of images.csv with 2 to 8 values, for which results by group are reported; []: none. Without this key:
        sex, age_group, view, scanner, manufacturer and site, as far as they exist.
    headline
        test: results are from the test set. nested: results are from all patients, by cross-validation that repeats
        every choice in each fold; the detector is fitted to all patients. auto: nested if the test set is too small.
    outer_folds
        Number of outer folds of the nested cross-validation.
    """

    fp_targets: FpTargets = Field(default_factory=lambda: [*FP_TARGETS])
    operating_fp: FpTarget = OPERATING_FP
    thresholds: Literal["out_of_fold", "in_sample"] = "out_of_fold"
    objects: Literal["all", "reached"] = "all"
    n_bootstrap: Annotated[int, Field(ge=1, le=1_000_000)] = N_BOOTSTRAP
    level: Annotated[float, Field(ge=0.5, le=0.999)] = LEVEL
    size_bins: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2)] = Field(
        default_factory=lambda: [*SIZE_BINS_MM]
    )
    chance_shifts: Annotated[int, Field(ge=1, le=10_000)] = CHANCE_SHIFTS
    subgroups: list[str] | None = Field(default=None, examples=[["sex", "scanner"]])
    headline: Literal["auto", "test", "nested"] = "auto"
    outer_folds: Annotated[int, Field(ge=2, le=100)] = 5

    def find_operating_fp(self) -> float:
        """Return the FP target at which the detector works."""
        return nearest_to(self.operating_fp, self.fp_targets)

    @field_validator("fp_targets", "size_bins")
    @classmethod
    def _growing(cls, values: list[float]) -> list[float]:
        if any(after <= before for before, after in pairwise(values)):
            raise ValueError("the numbers must grow")
        return values

    @model_validator(mode="after")
    def _enough_draws(self) -> Evaluation:
        try:
            check_draws(self.n_bootstrap, self.level)
        except InvalidInputError as error:
            raise ValueError(str(error)) from error
        return self


class ImageLimits(Section):
    """Limits on time and memory per image; an image beyond them is skipped.

    Attributes
    ----------
    seconds_per_image
        A worker that takes longer is stopped.
    memory_mb
        Memory limit of one worker in megabytes. Not set: no limit.
    """

    seconds_per_image: Positive = 300.0
    memory_mb: Annotated[int, Field(ge=64)] | None = Field(default=None, examples=[4000])


# What a Dask client connects to: https://distributed.dask.org/en/stable/communications.html
SCHEDULER = re.compile(r"((tcp|tls|ws|wss|ucx)://)?([^\s/:\[\]]+|\[[0-9a-fA-F:.]+\])(:\d+)?")


class Execution(Section):
    """How images are processed, and how much memory the run may use. The results do not depend on it.

    Attributes
    ----------
    executor
        processes, serial or dask.
    workers
        Number of worker processes. Not set: one per processor.
    scheduler
        Address of a Dask cluster.
    batch
        Number of images per Dask task.
    memory_mb
        Memory in megabytes for the run itself, without its workers. If the features do not fit, models are fitted from
        the file of features. Not set, or 0: features are kept in memory.
    """

    executor: Literal["serial", "processes", "dask"] = "processes"
    workers: Annotated[int, Field(ge=1, le=1024)] | None = Field(default=None, examples=[2])
    scheduler: str | None = Field(default=None, examples=["tcp://127.0.0.1:8786"])
    batch: Annotated[int, Field(ge=1, le=10_000)] = 8
    memory_mb: Annotated[int, Field(ge=0)] | None = Field(default=None, examples=[4000])

    @field_validator("scheduler")
    @classmethod
    def _is_address(cls, scheduler: str | None) -> str | None:
        if scheduler is not None and not SCHEDULER.fullmatch(scheduler):
            raise ValueError("is not the address of a Dask scheduler (an example is tcp://10.0.0.5:8786)")
        return scheduler


if TYPE_CHECKING:

    class ModelSections(Section):
        """A section for each model of the registry, under its name."""

        def __getattr__(self, name: str) -> Any: ...

else:
    ModelSections = create_model(
        "ModelSections",
        __base__=Section,
        **{name: (model.settings, model.settings()) for name, model in MODELS.items()},
    )


class Settings(ModelSections):
    """All settings of ``study.toml``.

    Attributes
    ----------
    preset : str, default=''
        paper: all rules of the paper; keys that you set take precedence. Empty: Overread's defaults.
    name : str, default=''
        Name of the study in its report. Empty: the name of the folder.
    seed : int, default=0
        Seed of all random numbers.
    """

    preset: str = ""
    name: Annotated[str, Field(max_length=200)] = ""
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    inputs: OwnTables = OwnTables()
    split: Parts = Parts()
    region: Region = Region()
    units: Units = Units()
    images: Images = Images()
    merging: Merging = Merging()
    labels: Labels = Labels()
    candidates: Candidates = Candidates()
    features: FeatureChoice = FeatureChoice()
    hits: Hits = Hits()
    models: Models = Models()
    evaluation: Evaluation = Evaluation()
    limits: ImageLimits = ImageLimits()
    execution: Execution = Execution()

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        own, domain = self.candidates, get_domain(self.region.kind)
        if not self.split.test and self.evaluation.headline != "nested":
            raise ValueError('[split] test = 0 leaves no test set (set headline = "nested" in [evaluation])')
        if self.inputs.adjudication is not None and self.labels.groups:
            raise ValueError(
                "[inputs] adjudication: a chair decides on objects of all labels, but [labels] groups merges each group"
                " separately (use one of the two)"
            )
        if self.units.unit not in domain.units:
            raise ValueError(
                f'[units] unit = "{self.units.unit}": a {domain.name} is measured in {" or ".join(domain.units)}'
                " (or set kind in [region])"
            )
        if self.units.unit == "mm":
            try:
                self.hits.hit_rule().in_unit("mm")
            except InvalidInputError as error:
                raise ValueError(f"[hits] {error}") from error
        known = list_finders(domain.name)
        if "finder" in own.model_fields_set and own.finder not in known:
            raise ValueError(
                f'[candidates] finder = "{own.finder}" with [region] kind = "{self.region.kind}": use'
                f" {' or '.join(known)}"
            )
        if isinstance(own.polarity, dict) and own.polarity.keys() != self.labels.groups.keys():
            raise ValueError("[candidates] polarity by group must name each group of [labels] once")
        return self

    @model_validator(mode="before")
    @classmethod
    def _full_size_in_mm(cls, raw: Any) -> Any:
        """Fill in the paper's full size of merging where lengths are in mm."""
        units, merging = raw.get("units", {}), raw.get("merging", {})
        in_mm = isinstance(units, dict) and units.get("unit", "mm") == "mm"
        if in_mm and isinstance(merging, dict):
            return {**raw, "merging": {"full_size": FULL_SIZE_MM, **merging}}
        return raw

    def to_plain(self) -> dict[str, Any]:
        """Every value, ready for JSON."""
        return self.model_dump(mode="json")


def leave_out_unused(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out rare settings that have their default; with a preset, leave out none."""
    if plain.get("preset"):
        return dict(plain)
    kept = {}
    for name, value in plain.items():
        if name == "preset" or (
            name in ONLY_OF_FIELDS and value == Settings.model_fields[name].default.model_dump(mode="json")
        ):
            continue
        unused = UNUSED_KEYS.get(name, {})
        kept[name] = (
            {key: one for key, one in value.items() if key not in unused or one != unused[key]}
            if isinstance(value, dict)
            else value
        )
    return kept


ONLY_OF_FIELDS = ("region", "units", "images")
UNUSED_KEYS: dict[str, dict[str, object]] = {
    "candidates": {"polarity": "both", "smallest": None, "largest": None},
    "labels": {"groups": {}, "reader_weights": True},
    "inputs": {"adjudication": None},
    "features": {"exclude": []},
    "soft": {"intercept": True, "standardize": True, "lambdas": None},
    "b1": {"rule": "cross_validation"},
    "b2": {"rule": "cross_validation"},
    "evaluation": {"thresholds": "out_of_fold", "objects": "all"},
}


OLD_KEYS = {
    f"{name}_mm"
    for name in ("full_size", "smallest", "largest", "min_semi_axis", "margin", "max_distance", "size_bins")
}
"""Old names of keys, from before lengths lost the ending _mm."""


def _refuse_old_keys(raw: Mapping[str, Any], path: Path) -> None:
    """Refuse old names of keys, with all renames of the file in one message."""
    renames = [
        f"[{section}] {old} = ... is now {old.removesuffix('_mm')} = ..."
        for section, values in raw.items()
        for old in (values if isinstance(values, dict) else ())
        if old in OLD_KEYS
    ]
    if isinstance(raw.get("units"), dict) and raw["units"].get("unit") == "fraction":
        renames.append('[units] unit = "fraction" is now unit = "percent"')
    if renames:
        raise InvalidInputError(f"{path}: old names (change them; the numbers stay): {'; '.join(renames)}")


def read_settings(path: Path, *, seed: int | None = None) -> Settings:
    """Read a settings file; an error names the key and the remedy.

    Parameters
    ----------
    path : Path
        A file in TOML.
    seed : int, optional
        Replaces the seed of the file.

    Raises
    ------
    InvalidInputError
        Naming the file, the key and the remedy.
    """
    remedy = f"make one with: overread init {shell_word(path.parent)}"
    raw = read_toml(path, remedy)
    _refuse_old_keys(raw, path)
    if seed is not None:
        raw["seed"] = seed
    return parse_settings(raw, str(path))


def read_toml(path: Path, remedy: str) -> dict[str, Any]:
    """Read a TOML file without checking its keys; ``remedy`` says what to do if the file does not exist."""
    try:
        content = read_capped(
            path,
            LARGEST_FILE,
            lambda _: InvalidInputError(
                f"{path}: is larger than {LARGEST_FILE} bytes, so it is not a settings file"
            ),
        )
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: does not exist ({remedy})") from None
    except IsADirectoryError:
        raise InvalidInputError(f"{path}: is a folder, not a settings file") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path}: is not UTF-8 text (save it as UTF-8)") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise InvalidInputError(f"{path}: is not TOML: {error}") from None


def parse_settings(raw: Mapping[str, object], place: str = "settings") -> Settings:
    """Check settings and lay them over their preset; error messages begin with ``place``."""
    name = raw.get("preset") or ""
    if name not in ("", *PRESETS):
        raise InvalidInputError(
            f"{place}, preset = {_shown(name)}: there is no such preset (use {' or '.join(PRESETS)}, or leave it out)"
        )
    return parse_sections(Settings, lay_over(PRESETS.get(str(name), {}), raw), place)


def parse_sections(kind: type[Sections], raw: Mapping[str, object], place: str) -> Sections:
    """Check the content of a file whose tables are the fields of ``kind``; error messages begin with ``place``."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        told = [_described(fault, kind) for fault in error.errors()[:5]]
        raise InvalidInputError(f"{place}, " + "; ".join(told)) from None


def _described(fault: Mapping[str, Any], kind: type[Section]) -> str:
    """Describe one error of pydantic: key, error and remedy."""
    location = [part for part in fault["loc"] if not str(part).startswith("function-")]
    name = _key_of(location)
    if fault["type"] == "extra_forbidden" and location[-1] == "seed" and "seed" in kind.model_fields:
        return f"{name}: the study has one seed (write seed = ... at the top of the file)"
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(str(location[-1]), _known_keys(kind, location[:-1]), n=1, cutoff=0.5)
        known = (
            f"did you mean {near[0]}?" if near else f"known: {', '.join(_known_keys(kind, location[:-1]))}"
        )
        return f"{name}: there is no such key ({known})"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not location:
        return message
    found = _shown(fault.get("input"))
    return f"{name} = {found}: {message[:1].lower()}{message[1:]}"


def _key_of(location: Sequence[int | str]) -> str:
    """Write a key as in the file: ``[section] key``."""
    if len(location) < 2:
        return str(location[0]) if location else "the file"
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location[1:])
    return f"[{location[0]}] {place.removeprefix('.')}"


def _known_keys(kind: type[Section], location: Sequence[int | str]) -> list[str]:
    """Keys that a table of the file may have."""
    if not location:
        return list(kind.model_fields)
    section = kind.model_fields.get(str(location[0]))
    return [] if section is None else list(getattr(section.annotation, "model_fields", {}))


def _shown(value: object) -> str:
    """Value of the file, short."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


WIDTH = 110
TOP = ("preset", "name", "seed")
OF_PICTURES = (
    "# For images other than chest radiographs, a finder, limit or length that is commented out follows from the",
    "# images and marks (docs/explanation/fields.md); the report shows the values.",
)


def settings_template(proposed: Mapping[str, Mapping[str, object]] | None = None, *, preset: str = "") -> str:
    """Write a settings file with every key, commented out, with its default or the value of the preset.

    Keys without a default are shown with an example.
    """
    given = proposed or {}
    values = parse_settings({"preset": preset}).to_plain()
    lines = [
        "# Settings of the study. A key that is commented out has the value shown, unless it is described as: not set.",
        *(OF_PICTURES if "region" in given else ()),
        "",
    ]
    for key in TOP:
        meaning = wrap(describe_keys(Settings)[key], WIDTH)
        lines += [*(f"# {line}" for line in meaning), f"{key} = {json.dumps(values[key])}"]
    for name in section_names():
        lines += ["", *_section_lines(name, values[name], given.get(name, {}))]
    return "\n".join(lines) + "\n"


def section_names() -> list[str]:
    """List the sections in the order of the file: those of the models follow ``[models]``."""
    others = [name for name in Settings.model_fields if name not in (*MODELS, *TOP)]
    place = others.index("models") + 1
    return [*others[:place], *MODELS, *others[place:]]


def _section_lines(name: str, values: Mapping[str, object], proposed: Mapping[str, object]) -> list[str]:
    section = type(getattr(Settings(), name))
    lines = [f"# {(section.__doc__ or '').strip().splitlines()[0]}", f"[{name}]"]
    for key, meaning in ((key, describe_keys(section)[key]) for key in values):
        value, sign = (proposed[key], "") if key in proposed else (values[key], "# ")
        if value is None and sign:
            meaning += " Not set; for example:"
            value = (section.model_fields[key].examples or [1])[0]
        lines += [*(f"# {line}" for line in wrap(meaning, WIDTH)), f"{sign}{key} = {_write_toml(value)}"]
    return lines


def _write_toml(value: object) -> str:
    """Write a plain value as TOML in one line; all but tables is the same in JSON."""
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_write_toml(one)}" for key, one in value.items())
        return f"{{{inside}}}"
    return json.dumps(value)
