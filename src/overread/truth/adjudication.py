"""What a chair decided on objects that readers disagree about, carried into a truth table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from overread.errors import TableError
from overread.tables.cell_types import quote_cell
from overread.tables.schemas import Column, Schema
from overread.tables.table_files import HashedTable, read_hashed_table

__all__ = ["ADJUDICATION", "ADJUDICATION_FILE", "DECISIONS", "apply_adjudication", "read_adjudication"]

ADJUDICATION_FILE = "adjudication.csv"
"""Name under which the reading room writes the decisions of a study's chairs."""
ADJUDICATION = Schema(
    "adjudication",
    (
        Column("image_id", "id", meaning="The image."),
        Column("truth_id", "id", meaning="The object that is decided on."),
        Column("decision", "text", meaning="lesion, not, unsure, or open where chairs differ."),
    ),
    key=("truth_id",),
)
DECISIONS = ("lesion", "not", "unsure", "open")
"""What a decision can be; open is where chairs differ."""


def read_adjudication(path: Path) -> HashedTable:
    """Read a table of decisions: image_id, truth_id, decision.

    Raises
    ------
    TableError
        Naming file, row and column; a decision is lesion, not, unsure, or open where chairs differ.
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
    """Return a truth table in which decided objects are golden, or are gone; the marks stay as they were.

    An object that is decided to be a lesion is golden with probability 1, one that is decided to be none is left out;
    "unsure" and "open" change nothing.

    Parameters
    ----------
    truth
        As `merge_marks` gives it.
    decisions
        The table that `read_adjudication` gives. An object's truth_id follows from its image and its marks: the marks
        have to be those that the chair saw, merged in the same way.

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
            "marks or the merging have changed since: decide anew, or merge as the reading room did)"
        )
    said = truth["truth_id"].map(dict(zip(settled["truth_id"], settled["decision"], strict=True)))
    lesion = (said == "lesion").to_numpy()
    changed = truth.assign(
        golden=truth["golden"] | lesion, probability=truth["probability"].mask(lesion, 1.0)
    )
    return changed[(said != "not").to_numpy()].reset_index(drop=True)
