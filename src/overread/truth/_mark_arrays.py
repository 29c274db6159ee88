"""Marks as arrays, in an order that depends on their content only: ties never depend on the order of the rows given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.marks import ELLIPSE_COLUMNS, normalized_ellipses
from overread.truth._options import MergeOptions


@dataclass(frozen=True)
class MarkArrays:
    """Marks as arrays, sorted by image, label, geometry, reader and id.

    Attributes
    ----------
    image_ids, reader_ids, labels
        Names behind the codes, sorted.
    image, label, reader
        Codes of each mark; `label` is 0 throughout where labels are ignored.
    group
        Code of image and label together: only marks of one group can hit each other.
    ellipses
        `(n, 5)` rows of x, y, a, b, angle.
    mark_ids
        Ids of the marks.
    confidence
        The column of that name, 1 where there is none.
    """

    image_ids: NDArray[np.object_]
    reader_ids: NDArray[np.object_]
    labels: NDArray[np.object_] | None
    image: NDArray[np.int64]
    label: NDArray[np.int64]
    reader: NDArray[np.int64]
    group: NDArray[np.int64]
    ellipses: NDArray[np.float64]
    mark_ids: NDArray[np.object_]
    confidence: NDArray[np.float64]

    @classmethod
    def from_table(cls, marks: pd.DataFrame, options: MergeOptions) -> MarkArrays:
        """Sort a validated table of marks and code its ids."""
        ellipses = normalized_ellipses(marks[list(ELLIPSE_COLUMNS)].to_numpy(dtype=np.float64))
        image, image_ids = _codes(marks["image_id"])
        reader, reader_ids = _codes(marks["reader_id"])
        mark, mark_ids = _codes(marks["mark_id"])
        label, labels = np.zeros(len(marks), dtype=np.int64), None
        if options.labels == "separate" and "label" in marks:
            label, labels = _codes(marks["label"].fillna(""))
        confidence = np.ones(len(marks))
        if "confidence" in marks:
            confidence = marks["confidence"].fillna(1.0).to_numpy(dtype=np.float64)
        order = np.lexsort((mark, reader, *ellipses.T[::-1], label, image))
        return cls(
            image_ids=image_ids,
            reader_ids=reader_ids,
            labels=labels,
            image=image[order],
            label=label[order],
            reader=reader[order],
            group=(image * (1 if labels is None else len(labels)) + label)[order],
            ellipses=ellipses[order],
            mark_ids=mark_ids[mark[order]],
            confidence=confidence[order],
        )

    def __len__(self) -> int:
        return len(self.image)

    def take(self, rows: NDArray[np.int64]) -> MarkArrays:
        """Return some of the marks, with the same codes."""
        columns = ("image", "label", "reader", "group", "ellipses", "mark_ids", "confidence")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def parts(self, most: int = 50_000) -> Iterator[NDArray[np.int64]]:
        """Rows in parts of whole images with at most `most` marks, unless one image alone has more."""
        start = 0
        while start < len(self):
            image = self.image[min(start + most, len(self) - 1)]
            end = len(self) if start + most >= len(self) else int(np.searchsorted(self.image, image))
            if end <= start:
                end = int(np.searchsorted(self.image, self.image[start], side="right"))
            yield np.arange(start, end)
            start = end


def _codes(ids: pd.Series[str]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Rank of each id among the sorted different ids, and these."""
    ranks, names = pd.factorize(ids, sort=True)
    return ranks.astype(np.int64), np.asarray(names, dtype=object)
