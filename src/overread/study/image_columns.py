"""The user's own columns of the images table: they describe the images, and make groups in which results are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from overread.errors import InvalidInputError
from overread.report.description import Description, Spread
from overread.tables.schemas import SCHEMAS

__all__ = ["MOST_VALUES", "choose_subgroups", "describe_columns", "measure_spread"]

# Looked at without being asked: what a reader of the report would ask for, and what `overread init` may write.
KNOWN = ("sex", "age_group", "view", "scanner", "manufacturer", "site")
# More groups than this leave few objects in each, and a table that nobody reads; chosen by eye.
MOST_VALUES = 8
UNKNOWN = "not stated"
# Columns of numbers that a description of images has, and how it calls them.
NUMBERS = {"kvp": "tube voltage, kV", "age": "age, years"}


def choose_subgroups(
    images: pd.DataFrame, wanted: Sequence[str] | None, place: Path
) -> dict[str, dict[str, str]]:
    """Give the value of every image, by column.

    Parameters
    ----------
    images
        The study's images table.
    wanted
        Columns that the settings name; None: those of the known ones that divide the images.
    place
        The settings file, for messages.

    Raises
    ------
    InvalidInputError
        If a column that is named is not there, or does not have 2 to 8 values.
    """
    if wanted is None:
        return {
            name: values
            for name in KNOWN
            if name in images
            and 2 <= len(set((values := _read_values(images, name)).values())) <= MOST_VALUES
        }
    chosen = {}
    own = [column.name for column in SCHEMAS["images"].columns]
    for name in wanted:
        if name not in images or name in own:
            others = ", ".join(str(column) for column in images.columns if column not in own) or "none"
            raise InvalidInputError(
                f"{place}, [evaluation] subgroups: the images table has no column {name!r} of yours (it has: {others})"
            )
        chosen[name] = _read_values(images, name)
        n_values = len(set(chosen[name].values()))
        if not 2 <= n_values <= MOST_VALUES:
            raise InvalidInputError(
                f"{place}, [evaluation] subgroups: the column {name!r} has {n_values} different values; it takes 2 to "
                f"{MOST_VALUES} (make a column of groups out of it, or leave it out)"
            )
    return chosen


def describe_columns(images: pd.DataFrame) -> Description:
    """Describe the images by the known columns: counts of values, and the spread of numbers."""
    numbers = {}
    for name, title in NUMBERS.items():
        if name in images and (spread := measure_spread(pd.to_numeric(images[name], errors="coerce"))):
            numbers[title] = spread
    counts = {
        name: dict(Counter(_read_values(images, name).values()).most_common(MOST_VALUES))
        for name in KNOWN
        if name in images
    }
    return Description(numbers, counts)


def measure_spread(values: pd.Series[float]) -> Spread | None:
    """Lowest, median and highest of the values that are there; None without any."""
    there = values.dropna()
    return Spread(float(there.min()), float(there.median()), float(there.max())) if len(there) else None


def _read_values(images: pd.DataFrame, name: str) -> dict[str, str]:
    """Value of each image; an empty cell is a group of its own."""
    cells = images[name].astype("str").str.strip()
    return dict(zip(images["image_id"].astype("str"), cells.where(cells != "", UNKNOWN), strict=True))
