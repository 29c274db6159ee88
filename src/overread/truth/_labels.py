"""Soft labels: the probability that an object is real (paper, section 3), and its weight (appendix).

The module also applies a chair's decisions to a truth table.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError, TableError
from overread.tables import Column, HashedTable, Schema, quote_cell, read_hashed_table
from overread.truth._options import LabelOptions


class ReadingRange(NamedTuple):
    """The smallest and largest number of readings that an image of the study has."""

    n_min: int
    n_max: int


def soft_labels(
    truth: pd.DataFrame, readings: pd.DataFrame | None = None, *, options: LabelOptions | None = None
) -> pd.DataFrame:
    """Fill in the columns probability, weight and golden of a truth table.

    With s the score of an object (its readers) and n the readings of its image::

        probability = s / n                         if s >= 2
                    = k_d P0 n_min / n              if s == 1,    P0 = 2 / n_max, k_d = 1/8
        weight      = n / n_max
        golden      = s >= 2

    Parameters
    ----------
    truth
        Columns n_marks, n_readers and n_readings.
    readings
        Table of all readings of the study, for n_min and n_max if the options do not set both.
    options
        Constants; see `LabelOptions`.

    Raises
    ------
    TableError
        For an object with more readers than readings, or with readings outside [n_min, n_max].
    InvalidInputError
        If n_max is 1, because P0 = 2 / n_max would exceed 1.
    """
    options = options or LabelOptions()
    limits = reading_range(readings, options)
    counts = {name: truth[name].to_numpy(dtype=np.int64) for name in ("n_marks", "n_readers", "n_readings")}
    _check_counts(truth, counts, limits)
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
            raise TableError("readings: the table is empty. List every reading of every image.")
        counts = readings.groupby("image_id", sort=False).size()
        n_min = int(counts.min()) if n_min is None else n_min
        n_max = int(counts.max()) if n_max is None else n_max
        wrong = counts[(counts < n_min) | (counts > n_max)]
        if len(wrong):
            raise TableError(
                f"readings: image {wrong.index[0]!r} has {wrong.iloc[0]} readings, outside [{n_min}, {n_max}]"
                f" ({len(wrong)} such images; change n_min or n_max, or remove them)"
            )
    if n_max == 1:
        raise InvalidInputError(
            "n_max is 1: with one reading per image there are no soft labels (P0 = 2 / n_max would exceed 1)"
        )
    if n_min > n_max:
        raise InvalidInputError(f"n_min {n_min} is above n_max {n_max}")
    return ReadingRange(n_min, n_max)


def _check_counts(truth: pd.DataFrame, counts: dict[str, NDArray[np.int64]], limits: ReadingRange) -> None:
    """Refuse an object whose numbers of marks, readers and readings contradict each other."""
    readers, marks, n = counts["n_readers"], counts["n_marks"], counts["n_readings"]
    if "nested_mark_ids" in truth:
        marks = marks + truth["nested_mark_ids"].map(len).to_numpy(dtype=np.int64)
    rules = (
        ((n < limits.n_min) | (n > limits.n_max), f"n_readings is outside [{limits.n_min}, {limits.n_max}]"),
        (readers > n, "more readers marked it than read the image"),
        ((readers < 1) | (marks < readers), "n_readers must be at least 1 and at most n_marks"),
    )
    for wrong, message in rules:
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            numbers = ", ".join(f"{name} {int(values[row])}" for name, values in counts.items())
            where = f"image {truth['image_id'].iloc[row]!r}" if "image_id" in truth else f"position {row}"
            raise TableError(f"truth, row {row + 2} ({where}): {message} ({numbers})")


ADJUDICATION_FILE = "adjudication.csv"
"""File in which the reading room writes the decisions of a study's chairs."""
ADJUDICATION = Schema(
    "adjudication",
    (
        Column("image_id", "id", meaning="The image."),
        Column("truth_id", "id", meaning="The object of the decision."),
        Column("decision", "text", meaning="lesion, not, unsure, or open if the chairs differ."),
    ),
    key=("truth_id",),
)
DECISIONS = ("lesion", "not", "unsure", "open")
"""Possible decisions; open if the chairs differ."""


def read_adjudication(path: Path) -> HashedTable:
    """Read a table of decisions: image_id, truth_id, decision.

    Raises
    ------
    TableError
        With file, row and column, if a decision is not lesion, not, unsure or open.
    """
    table = read_hashed_table(path, ADJUDICATION)
    decisions = table.frame["decision"]
    wrong = ~decisions.isin(DECISIONS)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise TableError(
            f"{path}, row {row + 2}, column decision: {quote_cell(decisions.iloc[row])} "
            f"(use {', '.join(DECISIONS)})"
        )
    return table


def apply_adjudication(truth: pd.DataFrame, decisions: pd.DataFrame) -> pd.DataFrame:
    """Return a truth table after a chair's decisions; the marks do not change.

    With "lesion" an object becomes a consensus object with probability 1, with "not" it is removed; "unsure" and "open"
    change nothing.

    Parameters
    ----------
    truth
        Table from `merge_marks`.
    decisions
        Table from `read_adjudication`. An object's truth_id depends on its image and marks, so these must be the marks
        that the chair saw, merged with the same options.

    Raises
    ------
    TableError
        If a decided object is not in the truth table.
    """
    settled = decisions[decisions["decision"].isin(("lesion", "not"))]
    strange = ~settled["truth_id"].isin(truth["truth_id"])
    if strange.any():
        name = settled["truth_id"][strange].iloc[0]
        raise TableError(
            f"adjudication: object {quote_cell(name)} is not among the merged objects ({int(strange.sum())} such; the "
            "marks or the merging changed: decide again, or merge as the reading room did)"
        )
    said = truth["truth_id"].map(dict(zip(settled["truth_id"], settled["decision"], strict=True)))
    lesion = (said == "lesion").to_numpy()
    changed = truth.assign(
        golden=truth["golden"] | lesion, probability=truth["probability"].mask(lesion, 1.0)
    )
    return changed[(said != "not").to_numpy()].reset_index(drop=True)
