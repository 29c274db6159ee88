"""What a study's own settings say that the room has to follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from overread.marks.mark_set import MarkSet
from overread.reading.pixels import read_images
from overread.truth.merging import merge_objects

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["merge_as_study", "study_name"]

SETTINGS_FILE = "study.toml"


def study_name(folder: Path) -> str:
    """Name of a study: that of its settings, else that of its folder."""
    # Late: the settings of a study know all its models, and who makes a link should not wait for those.
    from overread.study.settings import read_settings

    path = folder / SETTINGS_FILE
    name = read_settings(path).name if path.is_file() else ""
    return name or folder.resolve().name


def merge_as_study(folder: Path, found: MarkSet) -> pd.DataFrame:
    """Merge marks as the study's run will: a chair has to decide on the same objects.

    Parameters
    ----------
    folder
        Of the study, whose settings say how, and in which unit.
    found
        Marks and readings of the room.

    Returns
    -------
    DataFrame
        As `merge_objects` gives it, with lengths as the marks have them.
    """
    from overread.study.study_marks import take_study_marks
    from overread.study.units import convert_lengths, find_spacing

    images = read_images(folder)
    # A chair decides on objects of all labels, of which some may not have been used yet.
    own = take_study_marks(folder, MarkSet(found.marks, found.readings, images), by_group=False)
    objects = merge_objects(own.tables.marks, own.tables.readings, own.options)
    return objects if own.in_mm else convert_lengths(objects, own.tables.images, find_spacing(images))
