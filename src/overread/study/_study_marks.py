"""The marks and pictures of a study as its run takes them, for the commands that do a part of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from overread.domains import (
    DEFAULT_FINDER,
    DEFAULT_LIMIT,
    ChestDomain,
    Domain,
    DomainImage,
    ReferenceSizes,
    StudyFacts,
    domain_of,
    find_reference_sizes,
)
from overread.errors import InvalidInputError, OverreadError, UsageError
from overread.images import read_channels
from overread.marks import MarkSet, StudyScan, find_path
from overread.study._groups import split_groups
from overread.study._inputs import StudyInputs, choose_marks, read_inputs
from overread.study._settings import Settings, read_settings
from overread.tables import (
    UNIT_WORDS,
    LengthUnit,
    Problem,
    check_sizes,
    convert_lengths,
    find_radii,
    pixel_sides,
    plain,
)
from overread.truth import LabelOptions, MergeOptions, tell_misfit, threshold_curve

# A least semi-axis of more usual ones than this makes neighbours of an object hits; by judgement.
MOST_OF_LEAST = 2.0
# Standard errors by which a threshold has to fall behind the best one before it is worth a warning; by judgement.
CLEAR_LOSS = 3.0


def read_settings_if_sound(folder: Path) -> Settings:
    """Read a study's settings; return the defaults if they are missing or invalid (`check_settings` reports that)."""
    try:
        return read_settings(folder / "study.toml")
    except InvalidInputError:
        return Settings()


def check_settings(folder: Path) -> Iterator[Problem]:
    """Say what is wrong with a study's settings; a folder without any has the defaults."""
    path = folder / "study.toml"
    if not path.exists():
        return
    try:
        read_settings(path)
    except InvalidInputError as error:
        message = str(error).removeprefix(str(path)).lstrip(",: ")
        yield Problem(
            str(path), None, None, message, f"correct {path.name}; overread run refuses it", "error"
        )


def check_units(scan: StudyScan, folder: Path, settings: Settings) -> Iterator[Problem]:
    """Warn, for each group, if marks and reference sizes do not fit together."""
    place = str(folder / "study.toml")
    if scan.marks is None or scan.readings is None or scan.marks.empty:
        return
    if any(problem.severity == "error" for problem in scan.problems):
        return
    for group, own in (split_groups(settings) or {"": settings}).items():
        try:
            marks, sizes = measure_marks(scan.marks, scan.images, folder, own)
        except InvalidInputError as error:
            message, _, remedy = str(error).partition(" (")
            yield Problem(place, None, None, message, remedy.rstrip(")"), "error")
            return
        options = merge_options(own, sizes)
        told = [
            (place, _tell_hits(marks, sizes, own)),
            ("marks", tell_misfit(marks, options, own.units.unit)),
            (place, _tell_threshold(marks, scan.readings, options, own.units.unit)),
        ]
        named = f"group {group}: " if group else ""
        for file, words in told:
            if words is not None:
                yield Problem(file, None, None, f"{named}{words[0]}", words[1], "warning")


def measure_marks(
    marks: pd.DataFrame, images: pd.DataFrame | None, folder: Path, settings: Settings
) -> tuple[pd.DataFrame, ReferenceSizes]:
    """Return a group's marks in the study's unit, and the sizes that its numbers refer to."""
    own, unit = choose_marks(marks, settings.labels.groups, folder), settings.units.unit
    widths = np.empty(0)
    if images is not None:
        own = convert_lengths(own, images, unit, str(find_path(folder, "marks")))
    else:
        own, _ = plain(own, "mm", str(find_path(folder, "marks")))
    if unit != "mm":
        if images is None:
            raise InvalidInputError(
                f"[units] unit = {unit!r} needs the images table (overread init {folder})"
            )
        check_sizes(images, find_path(folder, "images"))
        widths = images["width_px"].to_numpy(np.float64) * pixel_sides(images, unit)
    return own, find_reference_sizes(settings.to_plain(), StudyFacts(widths, find_radii(own)))


def merge_options(settings: Settings, sizes: ReferenceSizes) -> MergeOptions:
    """Return how the marks will be merged: by the settings, with the unit's full size where they name none."""
    return MergeOptions(**dict(settings.merging) | {"full_size": sizes.full_size}, seed=settings.seed)


def _tell_hits(marks: pd.DataFrame, sizes: ReferenceSizes, settings: Settings) -> tuple[str, str] | None:
    """Warn if the hit rule widens objects far beyond the marks; None if it does not."""
    radii = find_radii(marks)
    least = getattr(settings.hits, "min_semi_axis", None) or sizes.least_semi_axis
    if settings.hits.rule not in ("hit", "strict") or not len(radii):
        return None
    usual = float(np.median(radii))
    if least <= MOST_OF_LEAST * usual:
        return None
    word = UNIT_WORDS[settings.units.unit]
    other = 'count in another unit ([units] unit = "px" or "percent"), or ' if word == "mm" else ""
    return (
        f"half of the marks have a radius below {usual:.3g} {word}, and an object is widened to at least "
        f"{least:.3g} {word} when hits are counted ([hits] min_semi_axis)",
        f"{other}set the number",
    )


def _tell_threshold(
    marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions, unit: LengthUnit
) -> tuple[str, str] | None:
    """Warn if held-out readers agree clearly better at another threshold; None if they do not."""
    curve = threshold_curve(marks, readings, options=options, unit=unit)
    if curve is None or curve.used == curve.chosen:
        return None
    loss, error = curve.shortfall()
    if loss <= CLEAR_LOSS * error:
        return None
    best = curve.table["agreement"].max()
    return (
        f"held-out readers agree less with the objects of {curve.option} = {curve.used:g} ({best - loss:.3f}) than of "
        f"the best threshold ({best:.3f}; the difference has a standard error of {error:.3f})",
        f"{curve.option} = {curve.chosen:g} in [merging] is what they would choose; overread merge shows the curve",
    )


Options = TypeVar("Options", MergeOptions, LabelOptions)


@dataclass(frozen=True)
class StudyMarks:
    """Marks in a study's unit, under plain names, and how its run merges them.

    With groups of labels, a mark's label is its group, and marks of no group are gone. The images' mm_per_px are in the
    unit, too.
    """

    tables: MarkSet
    options: MergeOptions
    labels: LabelOptions
    unit: LengthUnit


def take_study_marks(
    folder: Path | None,
    tables: MarkSet,
    options: MergeOptions | None = None,
    labels: LabelOptions | None = None,
    *,
    by_group: bool = True,
) -> StudyMarks:
    """Read the marks of a folder in the unit of its ``study.toml``, if there is one."""
    path = None if folder is None else folder / "study.toml"
    if folder is None or path is None or not path.is_file():
        marks, own_unit = plain(tables.marks, place="marks")
        return StudyMarks(
            replace(tables, marks=marks), options or MergeOptions(), labels or LabelOptions(), own_unit
        )
    settings = read_settings(path)
    named = _name_groups(tables.marks, settings, folder) if by_group else tables.marks
    # The marks of groups are chosen already.
    apart = settings.model_copy(update={"labels": settings.labels.model_copy(update={"groups": {}})})
    marks, sizes = measure_marks(named, tables.images, folder, apart)
    images, unit = tables.images, settings.units.unit
    if unit != "mm":
        side = pixel_sides(images, unit)
        images = images.assign(mm_per_px_x=side, mm_per_px_y=side)
    return StudyMarks(
        MarkSet(marks, tables.readings, images),
        _override(merge_options(settings, sizes), options),
        _override(settings.labels.make_options(), labels),
        unit,
    )


def _name_groups(marks: pd.DataFrame, settings: Settings, folder: Path) -> pd.DataFrame:
    """Replace labels of marks by their group, if there are groups: marks of different groups stay apart."""
    groups = settings.labels.groups
    if not groups:
        return marks
    chosen = [
        choose_marks(marks, {group: names}, folder).assign(label=group) for group, names in groups.items()
    ]
    return pd.concat(chosen, ignore_index=True)


def _override(own: Options, given: Options | None) -> Options:
    """Put what was asked for on top: every field that is not as it comes."""
    if given is None:
        return own
    usual = type(given)()
    asked = {field.name: getattr(given, field.name) for field in fields(given)}
    return replace(own, **{name: value for name, value in asked.items() if value != getattr(usual, name)})


@dataclass(frozen=True)
class StudyDomain:
    """A domain with the most candidates of an image, and the mask of each image where the region comes from masks."""

    domain: Domain
    limit: int
    masks: dict[str, Path]

    def read(self, image_id: str, path: Path, mm_per_px: tuple[float, float] | None) -> DomainImage:
        """Read an image of the study, or another one as if it were."""
        return self.domain.read(path, mm_per_px=mm_per_px, mask=self.masks.get(image_id))

    def from_table(
        self, table: pd.DataFrame, image: DomainImage, mm_per_px: tuple[float, float] | None
    ) -> pd.DataFrame:
        """Convert the lengths of a table of one image to the domain's unit, under plain names."""
        sides = (image.source_mm_per_px if self.domain.unit == "mm" else mm_per_px) or (np.nan, np.nan)
        width = (image.source_shape or image.shape)[1]
        known = table[["image_id"]].drop_duplicates()
        known = known.assign(mm_per_px_x=sides[0], mm_per_px_y=sides[1], width_px=width)
        return convert_lengths(table, known, self.domain.unit, "candidates")


def read_study_domain(
    folder: Path | None, group: str | None = None, finder: str | None = None
) -> StudyDomain:
    """Read how a study's images are worked on; a folder that is not a study counts as chest radiographs."""
    usual = StudyDomain(ChestDomain(finder or DEFAULT_FINDER), DEFAULT_LIMIT, {})
    if folder is None or not (folder / "study.toml").is_file():
        return usual
    settings = read_settings(folder / "study.toml")
    if not domain_of(settings.to_plain()).depends_on_study:
        return usual
    if finder is not None:
        raise UsageError("--finder: is of chests; study.toml names the finder of other pictures")
    groups = split_groups(settings)
    if group is not None and group not in groups:
        raise UsageError(f"--group {group!r}: the study has {', '.join(groups) or 'no groups'}")
    if len(groups) > 1 and group is None:
        raise UsageError(
            f"the study has several groups of labels; choose one with --group {' or '.join(groups)}"
        )
    if groups:
        settings = groups[group or next(iter(groups))]
    inputs = read_inputs(folder, settings)
    plain = complete_settings(settings, inputs).to_plain()
    domain = domain_of(plain)
    masks = domain.find_masks(inputs.images, folder, plain) or {}
    return StudyDomain(domain.from_settings(plain), plain["candidates"]["limit"], masks)


def complete_settings(settings: Settings, inputs: StudyInputs) -> Settings:
    """Fill in what depends on the study's images and marks, both in its unit."""
    images, marks, plain = inputs.images, inputs.marks, settings.to_plain()
    widths = np.empty(0)
    if {"width_px", "mm_per_px_x"} <= set(images):
        widths = (images["width_px"] * images["mm_per_px_x"]).to_numpy(np.float64)
    if "split" in images:
        marks = marks[~marks["image_id"].isin(images.loc[images["split"] == "test", "image_id"])]
    look = partial(_has_colours, inputs) if inputs.needs_images else lambda: None
    given = {
        f"{section}.{name}"
        for section in plain
        for name in getattr(getattr(settings, section), "model_fields_set", ())
    }
    found = domain_of(plain).complete(plain, given, StudyFacts(widths, find_radii(marks), look))
    return Settings.model_validate(plain | found) if found else settings


def _has_colours(inputs: StudyInputs) -> bool:
    """Whether the first image that can be read has colours."""
    for path in inputs.images["path"]:
        try:
            return bool(read_channels(inputs.folder / path).shape[2] > 1)
        except OverreadError:
            continue
    return False
