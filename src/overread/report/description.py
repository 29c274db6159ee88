"""Records of what a study is made of: files that were found, kinds of images, groups of them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

__all__ = ["Description", "FoundFiles", "Spread", "Subgroup"]


@dataclass(frozen=True)
class FoundFiles:
    """Counts of what `overread init` found, held against the images table of the run.

    Attributes
    ----------
    n_found
        Image files in the folder when `init` looked.
    left_out
        Files that `init` left out, by reason, the commonest first.
    n_taken_out, n_added
        Files that the images table had then and has no more, and those that it has got since.
    """

    n_found: int
    left_out: dict[str, int]
    n_taken_out: int
    n_added: int


@dataclass(frozen=True)
class Spread:
    """Lowest, middle and highest of some numbers."""

    lowest: float
    median: float
    highest: float


@dataclass(frozen=True)
class Description:
    """What the images are, as far as files and the images table tell.

    Attributes
    ----------
    numbers
        By what they are: pixel size, width and height in mm, tube voltage, age.
    counts
        Images by value, by column: where the pixel size was read, manufacturer, view, sex, ...
    """

    numbers: dict[str, Spread]
    counts: dict[str, dict[str, int]]


@dataclass(frozen=True, eq=False)
class Subgroup:
    """The detector at its locked threshold in the groups of test images that a column of the images table makes.

    ``table`` has the columns of `overread.froc.performance_by`.
    """

    column: str
    table: pd.DataFrame
