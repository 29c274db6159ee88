"""Soft labels: how likely an object is to be marked (paper, section 3), and its weight (appendix)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError, TableError
from overread.truth.options import LabelOptions

__all__ = ["ReadingRange", "reading_range", "soft_labels"]


@dataclass(frozen=True)
class ReadingRange:
    """The smallest and largest number of readings that an image of the study has."""

    n_min: int
    n_max: int


def soft_labels(
    truth: pd.DataFrame, readings: pd.DataFrame | None = None, *, options: LabelOptions | None = None
) -> pd.DataFrame:
    """Fill in the columns probability, weight and golden of a truth table.

    With s the score of a GT (its readers) and n the readings of its image::

        probability = s / n                         if s >= 2
                    = k_d P0 n_min / n              if s == 1,    P0 = 2 / n_max, k_d = 1/8
        weight      = n / n_max
        golden      = s >= 2

    Parameters
    ----------
    truth
        Columns n_marks, n_readers and n_readings.
    readings
        Table of all readings of the study, for n_min and n_max where the options do not set both.
    options
        Constants; see `LabelOptions`.

    Raises
    ------
    TableError
        For a GT with more readers than readings, or with readings outside [n_min, n_max].
    InvalidInputError
        If n_max is 1: then no probability between one and two readers exists.
    """
    options = options or LabelOptions()
    limits = reading_range(readings, options)
    counts = {name: truth[name].to_numpy(dtype=np.int64) for name in ("n_marks", "n_readers", "n_readings")}
    check_counts(truth, counts, limits)
    n = counts["n_readings"]
    score = counts["n_readers" if options.score == "readers" else "n_marks"]
    smallest = 2.0 / limits.n_max if options.smallest_probability is None else options.smallest_probability
    single = options.depression * smallest * limits.n_min / n
    probability = np.where(score >= 2, np.minimum(score / n, 1.0), single)
    return truth.assign(probability=probability, weight=n / limits.n_max, golden=score >= 2)


def reading_range(readings: pd.DataFrame | None, options: LabelOptions) -> ReadingRange:
    """Take n_min and n_max from the options or else from the readings, and check them."""
    n_min, n_max = options.n_min, options.n_max
    if n_min is None or n_max is None:
        if readings is None:
            raise InvalidInputError("soft labels need the readings table, or both n_min and n_max")
        if readings.empty:
            raise TableError("readings: the table is empty; it needs a row for every reading of every image")
        counts = readings.groupby("image_id", sort=False).size()
        n_min = int(counts.min()) if n_min is None else n_min
        n_max = int(counts.max()) if n_max is None else n_max
        check_readings_in_range(counts, n_min, n_max)
    if n_max == 1:
        raise InvalidInputError(
            "n_max is 1: with one reading per image there are no soft labels (P0 = 2 / n_max would exceed 1)"
        )
    if n_min > n_max:
        raise InvalidInputError(f"n_min {n_min} is above n_max {n_max}")
    return ReadingRange(n_min, n_max)


def check_readings_in_range(counts: pd.Series[int], n_min: int, n_max: int) -> None:
    """Refuse an image with fewer readings than n_min or more than n_max."""
    wrong = counts[(counts < n_min) | (counts > n_max)]
    if len(wrong):
        raise TableError(
            f"readings: image {wrong.index[0]!r} has {wrong.iloc[0]} readings, outside [{n_min}, {n_max}]"
            f" ({len(wrong)} such images; change n_min or n_max, or take them out)"
        )


def check_counts(truth: pd.DataFrame, counts: dict[str, NDArray[np.int64]], limits: ReadingRange) -> None:
    """Refuse a GT whose numbers of marks, readers and readings contradict each other."""
    readers, marks, n = counts["n_readers"], counts["n_marks"], counts["n_readings"]
    rules = (
        ((n < limits.n_min) | (n > limits.n_max), f"n_readings is outside [{limits.n_min}, {limits.n_max}]"),
        (readers > n, "more readers marked it than read the image"),
        (
            (readers < 1) | (marks + count_nested(truth) < readers),
            "n_readers must be at least 1 and at most n_marks",
        ),
    )
    for wrong, message in rules:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            numbers = ", ".join(f"{name} {int(values[row])}" for name, values in counts.items())
            where = f"image {truth['image_id'].iloc[row]!r}" if "image_id" in truth else f"position {row}"
            raise TableError(f"truth, row {row + 2} ({where}): {message} ({numbers})")


def count_nested(truth: pd.DataFrame) -> NDArray[np.int64]:
    """Count the marks that vote for each GT across scales; none where the table does not tell."""
    if "nested_mark_ids" not in truth:
        return np.zeros(len(truth), dtype=np.int64)
    return truth["nested_mark_ids"].map(len).to_numpy(dtype=np.int64)
