"""Settings of a study: what ``study.toml`` may say, what is meant where it says nothing, and the file `init` writes."""

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
    """Where in an image objects are looked for.

    Attributes
    ----------
    kind
        chest: the lungs of a chest radiograph. field_of_view: the largest bright area of any picture. masks: what the
        images' mask files leave. all: the whole picture.
    """

    kind: str = "chest"

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in list_kinds():
            raise ValueError(f"use one of {', '.join(list_kinds())}")
        return kind


class Units(Section):
    """In which unit lengths are counted.

    Attributes
    ----------
    unit
        mm; px: pixels; percent: per cent of an image's width. Marks are converted to it, and full_size, min_semi_axis,
        margin, max_distance, size_bins, smallest and largest are in it. px and percent need no size of a pixel; a chest
        needs mm.
    """

    unit: LengthUnit = "mm"


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
    """How marks become labels, and which labels of marks belong together.

    Attributes
    ----------
    reader_weights
        Whether a bag counts by the share of readers who read its image (a_mu of the paper's appendix); otherwise all
        bags count the same.
    groups
        Labels of marks that are one kind of object, by the name of the kind; each group gets truth, models and a
        detector of its own, and one page joins them. Empty: all marks are one kind. For example
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
                        f"the label {label!r} is in {taken[label]} and in {name}; it can be in one"
                    )
        return groups

    def make_options(self) -> LabelOptions:
        """Return the options of the soft labels."""
        return LabelOptions(**{name: getattr(self, name) for name in LabelSection.model_fields})


class OwnTables(Section):
    """Tables that take the place of a stage, relative to the study's folder.

    Attributes
    ----------
    candidates
        Your own candidates: image_id, candidate_id, x_mm, y_mm, radius_mm (or _px, _percent), response.
    features
        Your own features of these candidates: image_id, candidate_id, one column a feature.
    adjudication
        A chair's decisions on objects that readers disagree about, as the reading room writes them: lesions become
        golden with probability 1, what is none goes. The marks stay as they are.
    derive_readings
        Without a readings table, take a reader to have read just what he marked.
    """

    candidates: str | None = Field(default=None, examples=["candidates.csv"])
    features: str | None = Field(default=None, examples=["features.parquet"])
    adjudication: str | None = Field(default=None, examples=["adjudication.csv"])
    derive_readings: bool = False


class Parts(Section):
    """Shares of the parts into which patients are divided where the images table does not do it; together 1.

    Attributes
    ----------
    training
        Share of the images and of the golden objects that are for training.
    validation
        Of validation, which the paper's rule is judged on; settings are chosen on both by cross-validation.
    test
        Of the test set, which nothing but the last figures sees; 0 only with headline = "nested".
    """

    training: Fraction = 1 / 3
    validation: Fraction = 1 / 3
    test: Fraction = 1 / 3

    @model_validator(mode="after")
    def _together_one(self) -> Parts:
        needed = [self.training, self.validation, *([self.test] if self.test else [])]
        if not is_division(needed):
            raise ValueError(
                f"training {self.training:g}, validation {self.validation:g} and test {self.test:g} have to be above 0"
                " and add up to 1 (test alone may be 0)"
            )
        return self


class Candidates(Section):
    """What is looked for in an image.

    Attributes
    ----------
    finder
        Who looks for candidates: curvature or log (docs/reference/candidates.md); of other pictures than chests: blobs,
        also without this key, or one of your own (docs/explanation/fields.md).
    limit
        Most candidates of an image; of other pictures than chests, without this key: 250.
    polarity
        Of other pictures than chests: bright, dark or both; or one of them by group.
    smallest, largest
        Of other pictures than chests: radii that are looked for; without these keys, those of the marks: the 10th and
        the 50th percentile.
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
                f"there is no such finder; use {' or '.join(known)}, or install the package that has it"
            )
        return finder


class FeatureChoice(Section):
    """Which features are computed.

    Attributes
    ----------
    only
        Patterns of names; empty: all. For example ["glcm_*", "shape.*"].
    exclude
        Patterns of names that are left out. For example ["learned.*"].
    """

    only: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)


class HitsBase(Section):
    """When a candidate hits an object, and what a candidate on an object of one reader counts as."""

    rule: str = HIT.name
    single_reader: Literal["fp", "ignore"] = Field(default=SINGLE_READER)  # type: ignore[arg-type]
    repeats: Literal["suppress", "count"] = REPEATS

    def hit_rule(self) -> HitRule:
        """Return the rule by which bags are made and scores are judged; numbers that are not set are its own."""
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
        f"{name}\n    Of the rule {' or '.join(owners[name])}: {one.description}"
        for name, one in numbers.items()
    ]
    told += [
        "single_reader\n    A candidate on an object of one reader: ignore, or fp. Both are reported.",
        "repeats\n    A candidate that lies on a stronger one: suppress (not shown), or count, as in the paper.",
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
        Any of the models below, by the names of their sections; out-of-fold scores decide which becomes the detector.
    folds
        Folds of the cross-validation by which settings are chosen and thresholds locked.
    choice_fp_targets
        False positives per image over which the sensitivity of a setting is averaged.
    standard_errors
        Differences in sensitivity within so many standard errors count as none: those of a sparser setting against the
        best one, and those that the paper's rule for the penalty bounds.
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
                raise ValueError(f"there is no model {name!r}; use any of {', '.join(MODELS)}")
        if len(set(wanted)) < len(wanted):
            raise ValueError("a model is named twice")
        return wanted


class Evaluation(Section):
    """What is measured, and how sure it is.

    Attributes
    ----------
    fp_targets
        False positives per image at which sensitivity is reported.
    operating_fp
        False positives per image at which the detector works and of which the report speaks first; the nearest of
        fp_targets is taken.
    thresholds
        Scores of training + validation on which thresholds are locked: out_of_fold, by models that did not see the
        patient, or in_sample, as in the paper.
    objects
        Table 1 is of all golden objects, or, as in the paper, of those that are reached by a candidate.
    n_bootstrap
        Draws of patients for the intervals.
    level
        Level of the intervals.
    size_bins
        Edges of the sizes by which sensitivity is reported.
    chance_shifts
        Pairings of images for the chance level.
    subgroups
        Columns of images.csv with 2 to 8 values, by which results are also given; []: none. Without this key:
        sex, age_group, view, scanner, manufacturer and site, where they are there.
    headline
        test: figures are those of the test set. nested: of all patients, by cross-validation with every choice made
        again inside it; the detector is fitted to all. auto: nested where the test set would be too small.
    outer_folds
        Folds of the nested cross-validation.
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
    """What one image may cost before it is given up.

    Attributes
    ----------
    seconds_per_image
        A worker that takes longer is ended.
    memory_mb
        Memory of one worker; not set: as much as there is.
    """

    seconds_per_image: Positive = 300.0
    memory_mb: Annotated[int, Field(ge=64)] | None = Field(default=None, examples=[4000])


# What a Dask client connects to: https://distributed.dask.org/en/stable/communications.html
SCHEDULER = re.compile(r"((tcp|tls|ws|wss|ucx)://)?([^\s/:\[\]]+|\[[0-9a-fA-F:.]+\])(:\d+)?")


class Execution(Section):
    """Who works on the images, and with how much memory models are fitted. The results do not depend on it.

    Attributes
    ----------
    executor
        processes, serial or dask.
    workers
        Worker processes; not set: one a processor.
    scheduler
        Address of a Dask cluster.
    batch
        Images a Dask task.
    memory_mb
        Megabytes that the run itself may take, beside its workers: models are fitted from the file of features where
        they do not fit in it. Not set, or 0: features are held in memory.
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
            raise ValueError("is not the address of a Dask scheduler, such as tcp://10.0.0.5:8786")
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
    """Everything that ``study.toml`` may say.

    Attributes
    ----------
    preset
        paper: every rule of the paper at once; the keys that you write take precedence. Empty: Overread's defaults.
    name
        Name of the study in its report; empty: that of its folder.
    seed
        Seed of everything random.
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
                "[inputs] adjudication: a chair decides on objects of all labels, [labels] groups merges each group on"
                " its own (leave one of them out)"
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
            raise ValueError("[candidates] polarity by group has to name the groups of [labels], each once")
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
    """Leave out of plain settings what few studies have, where it is not used; with a preset nothing is left out."""
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
"""What keys were called before lengths lost the ending _mm, which was wrong in other units."""


def _refuse_old_keys(raw: Mapping[str, Any], path: Path) -> None:
    """Refuse what earlier versions called otherwise, with all renames of the file at once."""
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
    remedy = f"make one with: overread init {shell_word(path.parent)}"
    raw = read_toml(path, remedy)
    _refuse_old_keys(raw, path)
    if seed is not None:
        raw["seed"] = seed
    return parse_settings(raw, str(path))


def read_toml(path: Path, remedy: str) -> dict[str, Any]:
    """Read a file of settings without knowing its keys; ``remedy`` says what to do where there is none."""
    try:
        content = read_capped(
            path,
            LARGEST_FILE,
            lambda _: InvalidInputError(
                f"{path}: larger than {LARGEST_FILE} bytes; this is not a settings file"
            ),
        )
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: there is no such file ({remedy})") from None
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
    """Check settings that were read, over those of their preset; ``place`` begins the message of an error."""
    name = raw.get("preset") or ""
    if name not in ("", *PRESETS):
        raise InvalidInputError(
            f"{place}, preset = {_shown(name)}: there is no such preset (use {' or '.join(PRESETS)}, or leave it out)"
        )
    return parse_sections(Settings, lay_over(PRESETS.get(str(name), {}), raw), place)


def parse_sections(kind: type[Sections], raw: Mapping[str, object], place: str) -> Sections:
    """Check what was read of a file whose tables are the fields of ``kind``; ``place`` begins the message."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        told = [_described(fault, kind) for fault in error.errors()[:5]]
        raise InvalidInputError(f"{place}, " + "; ".join(told)) from None


def _described(fault: Mapping[str, Any], kind: type[Section]) -> str:
    """Key, what is wrong and the remedy of one fault that pydantic found."""
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
    """Write a key as it stands in the file: ``[section] key``."""
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
    "# Of pictures that are no chests, finder, limit and lengths that are commented out follow from images and marks",
    "# (docs/explanation/fields.md); the run's page shows which they were.",
)


def settings_template(proposed: Mapping[str, Mapping[str, object]] | None = None, *, preset: str = "") -> str:
    """Text of a settings file in which every key is there, commented out, with its default or that of the preset.

    Keys without a default are shown with an example.
    """
    given = proposed or {}
    values = parse_settings({"preset": preset}).to_plain()
    lines = [
        "# Settings of the study. A key that is commented out has the value shown, unless it says: not set.",
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
    """Sections in the order in which a person would want them: each model's after ``[models]``."""
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
