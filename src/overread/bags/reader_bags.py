"""One set of bags per reader, as the mixture of readers (B2) needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from overread.bags.bags import Bags
from overread.bags.grouping import make_bags
from overread.errors import TableError
from overread.truth import HIT, HitRule

__all__ = ["ReaderBags", "reader_bags"]


class ReaderBags(Mapping[str, Bags]):
    """Bags of each reader by reader id, made when asked for, so that only one reader's copy is in memory.

    Make one with :func:`reader_bags`. Readers without a candidate in any of their images are not in it:
    ``without_candidates`` names them.
    """

    def __init__(
        self,
        candidates: pd.DataFrame,
        features: pd.DataFrame,
        marks: pd.DataFrame,
        readings: pd.DataFrame,
        *,
        rule: HitRule,
        images: pd.DataFrame | None,
    ) -> None:
        self._candidates, self._features, self._marks = candidates, features, marks
        self._rule, self._images = rule, images
        by_reader = readings.groupby("reader_id", sort=True)["image_id"]
        self._images_of = {str(reader): set(ids) for reader, ids in by_reader}
        present = set(candidates["image_id"])
        self.without_candidates = tuple(r for r, ids in self._images_of.items() if not ids & present)

    def __iter__(self) -> Iterator[str]:
        return (reader for reader in self._images_of if reader not in self.without_candidates)

    def __len__(self) -> int:
        return len(self._images_of) - len(self.without_candidates)

    def __getitem__(self, reader: str) -> Bags:
        if reader not in self._images_of or reader in self.without_candidates:
            raise KeyError(reader)
        seen = self._images_of[reader]
        marks = self._marks[(self._marks["reader_id"] == reader) & self._marks["image_id"].isin(seen)]
        truth = marks.rename(columns={"mark_id": "truth_id"}).assign(golden=True)
        return make_bags(
            self._candidates[self._candidates["image_id"].isin(seen)],
            self._features[self._features["image_id"].isin(seen)],
            truth,
            rule=self._rule,
            labels="golden",
            images=self._images,
        )


def reader_bags(
    candidates: pd.DataFrame,
    features: pd.DataFrame,
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    rule: HitRule = HIT,
    images: pd.DataFrame | None = None,
) -> ReaderBags:
    """Arrange, for each reader, the candidates of the images that this reader read into bags (paper, section 5.1).

    A reader's positive bags, labelled 1, are the candidates that hit one of that reader's marks, a bag a mark;
    every other candidate of an image the reader read is a negative bag. Marks in images that no candidate is in
    make no bag.

    Parameters
    ----------
    candidates, features, images
        As in :func:`make_bags`.
    marks : pandas.DataFrame
        ``image_id``, ``reader_id``, ``mark_id`` and the ellipse.
    readings : pandas.DataFrame
        ``image_id``, ``reader_id``: a row a reading, also where the reader marked nothing.
    rule : HitRule
        When a candidate is near a mark.

    Raises
    ------
    TableError
        If a mark is in an image that its reader has no reading of.
    """
    for name, table, columns in (
        ("marks", marks, ["image_id", "reader_id", "mark_id"]),
        ("readings", readings, ["image_id", "reader_id"]),
    ):
        missing = [column for column in columns if column not in table]
        if missing:
            raise TableError(f"{name}: no column {', '.join(missing)}; it needs {', '.join(columns)}")
    pairs = pd.MultiIndex.from_frame(readings[["image_id", "reader_id"]])
    known = pd.MultiIndex.from_frame(marks[["image_id", "reader_id"]]).isin(pairs)
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        image, reader = marks[["image_id", "reader_id"]].iloc[row]
        raise TableError(
            f"marks row {row}: reader {reader!r} marked image {image!r}, but readings has no such reading"
        )
    return ReaderBags(candidates, features, marks, readings, rule=rule, images=images)
