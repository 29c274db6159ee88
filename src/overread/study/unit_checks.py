"""What `overread check` says of a study's unit: marks that do not fit the sizes that numbers refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError
from overread.marks.mark_set import StudyScan, find_path
from overread.report.lengths import UNIT_WORDS
from overread.study.groups import split_groups
from overread.study.inputs import choose_marks
from overread.study.settings import Settings, read_settings
from overread.study.units import (
    ReferenceSizes,
    convert_lengths,
    find_radii,
    find_reference_sizes,
    find_unit_spacing,
)
from overread.tables.problems import Problem
from overread.truth import MergeOptions
from overread.truth.size_fit import tell_misfit

__all__ = ["check_units", "measure_marks", "merge_options", "read_settings_if_sound"]

# A least semi-axis of more than so many usual ones makes neighbours of an object hits; by eye.
MOST_OF_LEAST = 2.0


def read_settings_if_sound(folder: Path) -> Settings:
    """Read a study's settings; the defaults where there are none or they are wrong, which `run` tells."""
    try:
        return read_settings(folder / "study.toml")
    except InvalidInputError:
        return Settings()


def check_units(scan: StudyScan, folder: Path, settings: Settings) -> Iterator[Problem]:
    """Tell, group by group, where marks and reference sizes do not fit together.

    Only where marks and readings are sound.
    """
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
        word = UNIT_WORDS[own.units.unit]
        told = [
            (place, tell_hits(marks, sizes, own, word)),
            ("marks", tell_misfit(marks, options, word)),
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
    if unit != "mm":
        if images is None:
            raise InvalidInputError(
                f"[units] unit = {unit!r} needs the images table (overread init {folder})"
            )
        spacing = find_unit_spacing(images, unit, Path(find_path(folder, "images")))
        own, widths = convert_lengths(own, images, spacing), images["width_px"].to_numpy(np.float64) * spacing
    return own, find_reference_sizes(settings, widths, find_radii(own))


def merge_options(settings: Settings, sizes: ReferenceSizes) -> MergeOptions:
    """Return how the marks will be merged: by the settings, with the unit's full size where they name none."""
    options = MergeOptions(**dict(settings.merging), seed=settings.seed)
    if "full_size_mm" in settings.merging.model_fields_set:
        return options
    return replace(options, full_size_mm=sizes.full_size)


def tell_hits(
    marks: pd.DataFrame, sizes: ReferenceSizes, settings: Settings, word: str
) -> tuple[str, str] | None:
    """Say that objects are widened far beyond the marks when hits are counted; None where they are not."""
    radii = find_radii(marks)
    least = getattr(settings.hits, "min_semi_axis_mm", None) or sizes.least_semi_axis
    if settings.hits.rule not in ("hit", "strict") or not len(radii):
        return None
    usual = float(np.median(radii))
    if least <= MOST_OF_LEAST * usual:
        return None
    other = (
        'count in another unit ([units] unit = "px" or "fraction"), or ' if word == UNIT_WORDS["mm"] else ""
    )
    return (
        f"half of the marks have a radius below {usual:.3g} {word}, and an object is widened to at least "
        f"{least:.3g} {word} when hits are counted ([hits] min_semi_axis_mm)",
        f"{other}set the number",
    )
