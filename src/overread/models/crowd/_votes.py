"""Reading the votes of readers on bags, and making them of marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._text import short_repr
from overread.bags import Bags, require_columns
from overread.errors import InputTypeError, InvalidInputError, TableError

LONG_COLUMNS = ["bag_id", "reader_id", "label"]


@short_repr()
@dataclass(frozen=True)
class Votes:
    """Who said what: ``matrix[i, r]`` is 1, 0, or NaN where reader r did not read bag i."""

    matrix: NDArray[np.float64]
    bag_ids: pd.Index[Any]
    reader_ids: pd.Index[Any]


def read_votes(votes: Any) -> Votes:
    """Read votes and check them: 0, 1 or NaN, some for each bag and reader, no id twice.

    A matrix has one row a bag and one column a reader (a data frame names both); of a long table ``bag_id``,
    ``reader_id``, ``label`` the bags come in order of first appearance, the readers sorted.
    """
    if isinstance(votes, Votes):
        table = pd.DataFrame(votes.matrix, index=votes.bag_ids, columns=votes.reader_ids)
    elif isinstance(votes, pd.DataFrame) and set(LONG_COLUMNS) <= set(votes.columns):
        table = _widen(votes)
    else:
        table = pd.DataFrame(votes) if isinstance(votes, pd.DataFrame) else pd.DataFrame(_two_axes(votes))
    for name, ids in (("bag", table.index), ("reader", table.columns)):
        if ids.has_duplicates:
            raise InvalidInputError(f"votes: {name} {ids[ids.duplicated()][0]!r} is there twice")
    matrix = _numbers(table)
    _check(matrix, table)
    return Votes(matrix, table.index, table.columns)


def votes_from_marks(truth: pd.DataFrame, marks: pd.DataFrame, readings: pd.DataFrame) -> Votes:
    """Votes on the rows of a truth table, in its order.

    A reader of the image says 1 if one of the reader's marks is among the object's ``mark_ids``, else 0; who did not
    read the image has no vote. Every object was marked by somebody, so that specificity estimated from these alone
    is that on objects that a reader marked; `votes_on_bags` adds bags that no reader marked.
    """
    require_columns(truth, "truth", ["image_id", "truth_id", "mark_ids"])
    require_columns(marks, "marks", ["image_id", "reader_id", "mark_id"])
    keys = pd.MultiIndex.from_frame(truth[["image_id", "truth_id"]])
    matrix, readers = _zeros_where_read(truth["image_id"], readings)
    members = truth[["image_id", "mark_ids"]].assign(row=np.arange(len(truth))).explode("mark_ids")
    members = members.rename(columns={"mark_ids": "mark_id"})
    found = members.merge(marks[["image_id", "mark_id", "reader_id"]], on=["image_id", "mark_id"], how="left")
    if found["reader_id"].isna().any():
        lost = found[found["reader_id"].isna()].iloc[0]
        raise TableError(
            f"marks: no mark {lost['mark_id']!r} of image {lost['image_id']!r}, which truth names"
        )
    columns = readers.get_indexer(pd.Index(found["reader_id"]))
    rows = found["row"].to_numpy(dtype=np.int64)
    unread = (columns < 0) | np.isnan(matrix[rows, columns])
    if unread.any():
        lost = found[unread].iloc[0]
        raise TableError(
            f"readings: {lost['reader_id']!r} marked image {lost['image_id']!r} without reading it"
        )
    matrix[rows, columns] = 1.0
    return Votes(matrix, keys, readers)


def votes_on_bags(bags: Bags, truth: pd.DataFrame, marks: pd.DataFrame, readings: pd.DataFrame) -> Votes:
    """Votes on bags made by `overread.bags.make_bags`, in their order.

    A bag of an object has the votes of `votes_from_marks`; in a negative bag every reader of the image says 0.
    """
    if bags.bag_table is None or not {"image_id", "truth_id"} <= set(bags.bag_table.columns):
        raise InvalidInputError("these bags carry no image and truth ids: make them with make_bags")
    table = bags.bag_table
    on_objects = votes_from_marks(truth, marks, readings)
    matrix, readers = _zeros_where_read(table["image_id"], readings)
    positive = np.flatnonzero(table["truth_id"].notna())
    wanted = pd.MultiIndex.from_frame(table.iloc[positive][["image_id", "truth_id"]])
    rows = on_objects.bag_ids.get_indexer(wanted)
    if (rows < 0).any():
        raise TableError(f"truth: no object {wanted[np.flatnonzero(rows < 0)[0]]}, which the bags name")
    matrix[positive] = on_objects.matrix[rows]
    return Votes(matrix, pd.Index(bags.bag_ids, tupleize_cols=False), readers)


def _zeros_where_read(image_ids: pd.Series[Any], readings: pd.DataFrame) -> tuple[Any, pd.Index[Any]]:
    """0 where a reader read the image of the row, NaN elsewhere; and the readers, sorted."""
    require_columns(readings, "readings", ["image_id", "reader_id"])
    readers = pd.Index(sorted(readings["reader_id"].unique()))
    rows = pd.DataFrame({"image_id": image_ids.to_numpy(), "row": np.arange(len(image_ids))})
    read = rows.merge(readings[["image_id", "reader_id"]], on="image_id")
    matrix = np.full((len(rows), len(readers)), np.nan)
    matrix[read["row"].to_numpy(), readers.get_indexer(read["reader_id"])] = 0.0
    return matrix, readers


def _widen(table: pd.DataFrame) -> pd.DataFrame:
    if table[["bag_id", "reader_id"]].isna().to_numpy().any():
        raise InvalidInputError("votes: bag_id and reader_id must not be missing")
    twice = table.duplicated(["bag_id", "reader_id"])
    if twice.any():
        row = table[twice].iloc[0]
        raise InvalidInputError(
            f"votes: reader {row['reader_id']!r} votes twice on bag {row['bag_id']!r}; keep one vote"
        )
    wide = table.pivot(index="bag_id", columns="reader_id", values="label")
    return wide.loc[table["bag_id"].unique()]


def _two_axes(votes: Any) -> NDArray[Any]:
    values = np.asarray(votes)
    if values.ndim != 2:
        raise InvalidInputError(
            f"votes have shape {values.shape}; give one row per bag and one column per reader"
        )
    return values


def _numbers(table: pd.DataFrame) -> NDArray[np.float64]:
    try:
        return table.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"votes must be 0, 1 or NaN: {error}") from error


def _check(matrix: NDArray[np.float64], table: pd.DataFrame) -> None:
    if not matrix.size:
        raise InvalidInputError(f"votes have shape {matrix.shape}: there is no vote")
    read = ~np.isnan(matrix)
    wrong = np.argwhere(read & (matrix != 0) & (matrix != 1))
    if len(wrong):
        i, r = wrong[0]
        raise InvalidInputError(
            f"votes: reader {table.columns[r]!r} says {matrix[i, r]:g} of bag {table.index[i]!r}; use 0, 1 or NaN"
        )
    for name, ids, has_votes in (
        ("bag", table.index, read.any(axis=1)),
        ("reader", table.columns, read.any(axis=0)),
    ):
        if not has_votes.all():
            raise InvalidInputError(
                f"votes: {name} {ids[np.flatnonzero(~has_votes)[0]]!r} has none; leave it out"
            )
