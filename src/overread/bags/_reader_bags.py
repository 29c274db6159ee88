"""One set of bags per reader, as the mixture of readers (B2) needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.bags._bags import Bags
from overread.bags._grouping import KEYS, FeatureRows, Grouping, group_candidates, read_features
from overread.bags._validation import require_columns
from overread.errors import TableError
from overread.truth import HIT, HitRule


class ReaderBags(Mapping[str, Bags]):
    """Bags of each reader by reader id, made when asked for, so that only one reader's copy is in memory.

    Make one with :func:`reader_bags`. Readers without a candidate in any of their images are not in it:
    ``without_candidates`` names them.
    """

    def __init__(
        self,
        grouping: Grouping,
        features: FeatureRows,
        readings: pd.DataFrame,
        *,
        images: pd.DataFrame | None,
        with_ids: bool = True,
    ) -> None:
        self._grouping = grouping.locate(features) if grouping.feature_rows is None else grouping
        self._features, self._readings, self._images = features, readings, images
        self._with_ids = with_ids
        by_reader = readings.groupby("reader_id", sort=True)["image_id"]
        self._images_of = {str(reader): set(ids) for reader, ids in by_reader}
        present = set(grouping.image_ids)
        self.without_candidates = tuple(r for r, ids in self._images_of.items() if not ids & present)

    def of_images(self, image_ids: Iterable[Any]) -> ReaderBags:
        """Return the bags of some images, in their order; no hit is looked for again."""
        chosen = set(image_ids)
        readings = self._readings[self._readings["image_id"].isin(chosen)]
        return self._replace(grouping=self._grouping.of_images(chosen), readings=readings)

    def with_features(self, features: FeatureRows) -> ReaderBags:
        """Return the same bags with features from elsewhere."""
        return self._replace(features=features)

    def _replace(self, **changes: Any) -> ReaderBags:
        own: dict[str, Any] = {
            "grouping": self._grouping,
            "features": self._features,
            "readings": self._readings,
        }
        return ReaderBags(**(own | changes), images=self._images, with_ids=self._with_ids)

    def __iter__(self) -> Iterator[str]:
        return (reader for reader in self._images_of if reader not in self.without_candidates)

    def __len__(self) -> int:
        return len(self._images_of) - len(self.without_candidates)

    def __getitem__(self, reader: str) -> Bags:
        if reader not in self._images_of or reader in self.without_candidates:
            raise KeyError(reader)
        read = self._grouping.of_images(self._images_of[reader])
        own = (read.truth["reader_id"] == reader).to_numpy(dtype=bool)
        every = np.ones(len(read.image_ids), dtype=bool)
        return read.select(every, own).make_bags(
            self._features, labels="golden", images=self._images, with_ids=self._with_ids
        )


def reader_bags(
    candidates: pd.DataFrame,
    features: pd.DataFrame | FeatureRows,
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    rule: HitRule = HIT,
    images: pd.DataFrame | None = None,
    feature_rows: NDArray[np.int64] | None = None,
    with_ids: bool = True,
) -> ReaderBags:
    """Arrange, for each reader, the candidates of the images that this reader read into bags (paper, section 5.1).

    A reader's positive bags, labelled 1, are the candidates that hit one of that reader's marks, a bag a mark;
    every other candidate of an image the reader read is a negative bag. Marks in images that no candidate is in
    make no bag.

    Parameters
    ----------
    candidates, features, images
        As in :func:`make_bags`; ``features`` may have been read by :func:`read_features`.
    marks : pandas.DataFrame
        ``image_id``, ``reader_id``, ``mark_id`` and the ellipse.
    readings : pandas.DataFrame
        ``image_id``, ``reader_id``: a row a reading, also where the reader marked nothing.
    rule : HitRule
        When a candidate is near a mark.
    feature_rows : ndarray of int64, shape (n_candidates,), optional
        Where the features of each candidate are, if that is known; else they are looked up.
    with_ids : bool
        As in :meth:`Grouping.make_bags`.

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
    truth = marks.rename(columns={"mark_id": "truth_id"}).assign(golden=True)
    grouping = replace(group_candidates(candidates, truth, rule=rule), feature_rows=feature_rows)
    if isinstance(features, pd.DataFrame):
        _refuse_strangers(features, candidates)
        features = read_features(features)
    return ReaderBags(grouping, features, readings, images=images, with_ids=with_ids)


def _refuse_strangers(features: pd.DataFrame, candidates: pd.DataFrame) -> None:
    require_columns(features, "features", KEYS)
    n_rows = int(features["image_id"].isin(candidates["image_id"]).sum())
    if n_rows > len(candidates):
        raise TableError(f"features: {n_rows} rows for {len(candidates)} candidates; drop the others")
