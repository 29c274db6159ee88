"""What `overread check` says of a study's unit: marks that do not fit the sizes that numbers refer to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError
from overread.marks.mark_set import StudyScan, find_path
from overread.report.lengths import UNIT_WORDS
from overread.study.groups import split_groups
from overread.study.inputs import choose_marks
from overread.study.settings import Settings, read_settings
from overread.study.units import convert_lengths, find_radii, find_reference_sizes, find_unit_spacing
from overread.tables.problems import Problem

__all__ = ["check_units", "read_settings_if_sound"]

# A least semi-axis of more than so many usual ones makes neighbours of an object hits. Size over full size: 0.5 of a
# nodule of 10 mm, 0.1 to 0.4 on the training images of DIARETDB1; far outside, the threshold of merging is near 0, or
# the same for all. Both chosen by eye around these.
MOST_OF_LEAST = 2.0
USUAL_SHARES = (0.05, 3.0)


def read_settings_if_sound(folder: Path) -> Settings:
    """Read a study's settings; the defaults where there are none or they are wrong, which `run` tells."""
    try:
        return read_settings(folder / "study.toml")
    except InvalidInputError:
        return Settings()


def check_units(scan: StudyScan, folder: Path, settings: Settings) -> Iterator[Problem]:
    """Warn where marks and the reference sizes of the unit do not fit together, group by group."""
    place = str(folder / "study.toml")
    if scan.marks is None or scan.images is None or scan.marks.empty:
        return
    if any(problem.severity == "error" for problem in scan.problems):
        return
    for group, own in (split_groups(settings) or {"": settings}).items():
        try:
            told = find_misfit(scan.marks, scan.images, folder, own)
        except InvalidInputError as error:
            message, _, remedy = str(error).partition(" (")
            yield Problem(place, None, None, message, remedy.rstrip(")"), "error")
            return
        if told is not None:
            named = f"group {group}: " if group else ""
            remedy = 'count in another unit ([units] unit = "px" or "fraction"), or set the number'
            yield Problem(place, None, None, f"{named}{told}", remedy, "warning")


def find_misfit(marks: pd.DataFrame, images: pd.DataFrame, folder: Path, settings: Settings) -> str | None:
    """Say which reference size does not fit the marks; None where all do."""
    own, unit = choose_marks(marks, settings.labels.groups, folder), settings.units.unit
    widths = np.empty(0)
    if unit != "mm":
        spacing = find_unit_spacing(images, unit, Path(find_path(folder, "images")))
        own, widths = convert_lengths(own, images, spacing), images["width_px"].to_numpy(np.float64) * spacing
    radii = find_radii(own)
    if not len(radii):
        return None
    sizes, usual = find_reference_sizes(settings, widths, radii), float(np.median(radii))
    word = UNIT_WORDS[unit]
    least = getattr(settings.hits, "min_semi_axis_mm", None) or sizes.least_semi_axis
    if settings.hits.rule in ("hit", "strict") and least > MOST_OF_LEAST * usual:
        return (
            f"half of the marks have a radius below {usual:.3g} {word}, and an object is widened to at least "
            f"{least:.3g} {word} when hits are counted ([hits] min_semi_axis_mm)"
        )
    full = (
        settings.merging.full_size_mm
        if "full_size_mm" in settings.merging.model_fields_set
        else sizes.full_size
    )
    low, high = USUAL_SHARES
    if not low <= 2 * usual / full <= high:
        return (
            f"half of the marks are smaller than {2 * usual:.3g} {word}, and the merging threshold is whole from "
            f"{full:.3g} {word} on ([merging] full_size_mm)"
        )
    return None
