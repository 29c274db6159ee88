"""The marks of a study as its run merges them, for the commands that do only that."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TypeVar

import pandas as pd

from overread.marks.mark_set import MarkSet, find_path
from overread.report.lengths import UNIT_WORDS
from overread.study.inputs import choose_marks
from overread.study.settings import Settings, read_settings
from overread.study.unit_checks import measure_marks, merge_options
from overread.study.units import find_unit_spacing
from overread.truth import LabelOptions, MergeOptions

__all__ = ["StudyMarks", "take_study_marks"]

Options = TypeVar("Options", MergeOptions, LabelOptions)


@dataclass(frozen=True)
class StudyMarks:
    """Marks in a study's unit, and how its run merges them.

    Attributes
    ----------
    tables
        Marks, readings and images; with groups of labels, a mark's label is its group, and marks of no group are gone.
        The images' mm_per_px are in the unit, too.
    options, labels
        Of merging, and of soft labels.
    unit
        Of the lengths, as it is written at an axis.
    in_mm
        Whether they are mm.
    """

    tables: MarkSet
    options: MergeOptions
    labels: LabelOptions
    unit: str
    in_mm: bool


def take_study_marks(
    folder: Path | None,
    tables: MarkSet,
    options: MergeOptions | None = None,
    labels: LabelOptions | None = None,
    *,
    by_group: bool = True,
) -> StudyMarks:
    """Take the marks of a folder as its ``study.toml`` says; without one, as they are.

    Parameters
    ----------
    folder
        Of the study; None for tables that belong to none.
    tables
        What was read from it.
    options, labels
        What else was asked for: what is not as it comes counts more than the settings.
    by_group
        Whether a mark's label becomes that of its group; every label of a group has to be among the marks then.

    Raises
    ------
    InvalidInputError
        If the settings cannot be read, or need sizes that the images table does not tell.
    """
    path = None if folder is None else folder / "study.toml"
    if folder is None or path is None or not path.is_file():
        return StudyMarks(
            tables, options or MergeOptions(), labels or LabelOptions(), UNIT_WORDS["mm"], in_mm=True
        )
    settings = read_settings(path)
    named = name_groups(tables.marks, settings, folder) if by_group else tables.marks
    marks, sizes = measure_marks(named, tables.images, folder, apart(settings))
    images, unit = tables.images, settings.units.unit
    if unit != "mm":
        spacing = find_unit_spacing(images, unit, find_path(folder, "images"))
        images = images.assign(mm_per_px_x=spacing, mm_per_px_y=spacing)
    return StudyMarks(
        MarkSet(marks, tables.readings, images),
        override(merge_options(settings, sizes), options),
        override(settings.labels.make_options(), labels),
        UNIT_WORDS[unit],
        in_mm=unit == "mm",
    )


def name_groups(marks: pd.DataFrame, settings: Settings, folder: Path) -> pd.DataFrame:
    """Put the group in place of a mark's label, where there are groups: marks of different groups stay apart."""
    groups = settings.labels.groups
    if not groups:
        return marks
    chosen = [
        choose_marks(marks, {group: names}, folder).assign(label=group) for group, names in groups.items()
    ]
    return pd.concat(chosen, ignore_index=True)


def apart(settings: Settings) -> Settings:
    """Return the settings without groups, for marks that were chosen already."""
    return settings.model_copy(update={"labels": settings.labels.model_copy(update={"groups": {}})})


def override(own: Options, given: Options | None) -> Options:
    """Put what was asked for on top: every field that is not as it comes."""
    if given is None:
        return own
    usual = type(given)()
    asked = {field.name: getattr(given, field.name) for field in fields(given)}
    return replace(own, **{name: value for name, value in asked.items() if value != getattr(usual, name)})
