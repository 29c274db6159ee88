"""Marks as arrays; overlapping pairs; the ellipse that represents several marks.

The order of the arrays depends on the marks' content only: ties never depend on the order of the given rows. Pairs of
overlapping marks are step 1 of the paper's merging (section 2.1).

An object's ellipse is that of one of its marks, as in the paper, or the mean of all. The mean of ellipses has the mean
centre and the mean matrix R(t) diag(a, b) R(t)^T, the square root of the matrix of second moments up to a factor (the
root Euclidean mean of Dryden, Koloydenko and Zhou, 2009). It turns, shifts and scales with the marks, and for ellipses
along the axes it is the ellipse in the mean of their boxes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.marks import (
    ELLIPSE_COLUMNS,
    ellipses_of_matrices,
    equal_area_diameters,
    normalized_ellipses,
    overlap_areas,
)
from overread.truth._hits import pairs_within_reach
from overread.truth._options import MergeOptions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class MarkArrays:
    """Marks as arrays, sorted by image, label, geometry, reader and id.

    Attributes
    ----------
    image_ids, reader_ids, labels
        Names behind the codes, sorted.
    image, label, reader
        Codes of each mark; `label` is 0 if labels are ignored.
    group
        Code of image and label together: only marks within a group can hit each other.
    ellipses
        `(n, 5)` rows of x, y, a, b, angle.
    mark_ids
        Ids of the marks.
    confidence
        The column of that name; 1 if missing.
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
        """Rows in parts of complete images with at most `most` marks, unless one image has more."""
        start = 0
        while start < len(self):
            image = self.image[min(start + most, len(self) - 1)]
            end = len(self) if start + most >= len(self) else int(np.searchsorted(self.image, image))
            if end <= start:
                end = int(np.searchsorted(self.image, self.image[start], side="right"))
            yield np.arange(start, end)
            start = end


def _codes(ids: pd.Series[str]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Rank of each id among the sorted unique ids, and these ids."""
    ranks, names = pd.factorize(ids, sort=True)
    return ranks.astype(np.int64), np.asarray(names, dtype=object)


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows that overlap.

    Attributes
    ----------
    first, second
        Row numbers.
    share
        Normalized intersection S_ij / max(S_i, S_j).
    iou
        S_ij / (S_i + S_j - S_ij).
    """

    first: IntArray
    second: IntArray
    share: FloatArray
    iou: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    def where(self, keep: NDArray[np.bool_]) -> Pairs:
        """Return the pairs at which `keep` is true."""
        return Pairs(self.first[keep], self.second[keep], self.share[keep], self.iou[keep])

    def among(self, rows: IntArray, n: int) -> Pairs:
        """Return the pairs with both rows among `rows` of a table of n, numbered by position in `rows`."""
        place = np.full(n, -1, np.int64)
        place[rows] = np.arange(len(rows))
        first, second = place[self.first], place[self.second]
        return Pairs(first, second, self.share, self.iou).where((first >= 0) & (second >= 0))


NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def mark_sizes(ellipses: FloatArray, options: MergeOptions) -> FloatArray:
    """Size D of each mark in mm."""
    if options.size == "equal_area":
        return equal_area_diameters(ellipses)
    if options.size == "major_axis":
        return np.asarray(2.0 * ellipses[:, 2])
    return np.asarray(ellipses[:, 2] + ellipses[:, 3])


def overlapping_pairs(
    groups: IntArray,
    ellipses: FloatArray,
    other_groups: IntArray | None = None,
    others: FloatArray | None = None,
) -> Pairs:
    """Pairs within a group that share area; within one table (each pair once), or between two tables."""
    reach = ellipses[:, 2]
    if others is None or other_groups is None:
        first, second = pairs_within_reach(groups, ellipses, reach, groups, ellipses, reach)
        once = first < second
        first, second, others = first[once], second[once], ellipses
    else:
        first, second = pairs_within_reach(groups, ellipses, reach, other_groups, others, others[:, 2])
    shared = overlap_areas(ellipses[first], others[second])
    area = np.pi * ellipses[first, 2] * ellipses[first, 3]
    other_area = np.pi * others[second, 2] * others[second, 3]
    pairs = Pairs(first, second, shared / np.maximum(area, other_area), shared / (area + other_area - shared))
    return pairs.where(shared > 0.0)


def hitting_pairs(pairs: Pairs, ellipses: FloatArray, others: FloatArray, options: MergeOptions) -> Pairs:
    """Pairs with S_ij / max(S_i, S_j) > T, of any readers."""
    return pairs.where(pairs.share > thresholds(ellipses[pairs.first], others[pairs.second], options))


def thresholds(first: FloatArray, second: FloatArray, options: MergeOptions) -> FloatArray:
    """Threshold T of each pair.

    T = min(T0, T0 / 20 max(D_i, D_j)) for a pair that is similar in size and position, else T = min(T0, T0 / 20
    min(D_i, D_j)); sizes D in mm, or `MergeOptions.full_size` instead of 20. Without a full size, which rules other
    than the paper's do not need, T = T0.
    """
    if options.threshold == "fixed" or options.full_size is None:
        return np.full(len(first), options.t0)
    sizes = mark_sizes(first, options), mark_sizes(second, options)
    smaller, larger = np.minimum(*sizes), np.maximum(*sizes)
    fraction = smaller / larger
    if options.size_fraction == "area":
        areas = first[:, 2] * first[:, 3], second[:, 2] * second[:, 3]
        fraction = np.minimum(*areas) / np.maximum(*areas)
    unit = {"max": larger, "min": smaller, "mean": 0.5 * (smaller + larger)}[options.distance_by]
    distance = np.hypot(first[:, 0] - second[:, 0], first[:, 1] - second[:, 1]) / unit
    similar = (fraction > options.similar_size) & (distance < options.similar_distance)
    size = np.where(similar, larger, smaller)
    return np.asarray(np.minimum(options.t0, options.t0 / options.full_size * size))


def representatives(marks: MarkArrays, groups: IntArray, options: MergeOptions) -> IntArray:
    """Row of the mark that represents each group: the lower median by size; of two marks, by the options."""
    sizes = mark_sizes(marks.ellipses, options)
    order = np.lexsort((np.arange(len(marks)), sizes, groups))
    counts = np.bincount(groups)
    starts = np.cumsum(counts) - counts
    place = starts + (counts - 1) // 2
    if options.pair_representative == "larger":
        place[counts == 2] += 1
    elif options.pair_representative == "random":
        for group in np.flatnonzero(counts == 2):
            first, second = order[starts[group]], order[starts[group] + 1]
            ids = sorted([marks.mark_ids[first], marks.mark_ids[second]])
            drawn = ids[digest(options.seed, marks.image_ids[marks.image[first]], ids)[0] & 1]
            place[group] += int(marks.mark_ids[second] == drawn)
    return np.asarray(order[place])


def mean_ellipses(ellipses: FloatArray, groups: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean ellipse of each group; for a single mark, the mark."""
    counts, total = np.bincount(groups), np.bincount(groups, weights)
    x, y, a, b, angle = ellipses.T
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    parts = (x, y, a * c * c + b * s * s, (a - b) * c * s, a * s * s + b * c * c)
    x, y, xx, xy, yy = (np.bincount(groups, weights * part) / total for part in parts)
    matrices = np.stack([np.stack([xx, xy], axis=1), np.stack([xy, yy], axis=1)], axis=1)
    means = ellipses_of_matrices(np.column_stack([x, y]), matrices)
    alone = counts[groups] == 1
    means[groups[alone]] = ellipses[alone]
    return means


def outline_spread(
    ellipses: FloatArray, groups: IntArray, outlines: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean IoU of each group's marks with its outline, and the spread of their centres.

    The spread is the root mean square distance of the marks' centres from that of the outline, over the outline's
    equal-area diameter 2 sqrt(a b).
    """
    own = outlines[groups]
    shared = overlap_areas(ellipses, own)
    areas = np.pi * (ellipses[:, 2] * ellipses[:, 3] + own[:, 2] * own[:, 3])
    counts = np.bincount(groups)
    squares = ((ellipses[:, :2] - own[:, :2]) ** 2).sum(axis=1)
    distance = np.sqrt(np.bincount(groups, squares) / counts) / equal_area_diameters(outlines)
    return np.bincount(groups, shared / (areas - shared)) / counts, distance


def digest(seed: int, image_id: str, mark_ids: Sequence[str]) -> bytes:
    """Eight pseudo-random bytes that depend only on the seed, the image and the marks."""
    # lengths distinguish ["a", "bc"] from ["ab", "c"]
    text = "".join([f"{len(part)}:{part}" for part in (str(seed), image_id, *mark_ids)])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
