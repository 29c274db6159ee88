"""From the marks of many readers to one table of ground-truth objects (paper, sections 2.1 and 3).

A table of marks as arrays, in an order that depends on the marks' content only.

Readers who see at different scales: one draws a ring, another the lesions inside it (paper, Figure 1, top row).

Such marks overlap too little to be hitting marks. With `MergeOptions(nested="votes")` a mark whose ellipse holds the
centre of an object, or whose centre lies in the object's ellipse, is a vote of its reader for that object. The
geometry of the objects, and which marks they are made of, stay as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.marks import ELLIPSE_COLUMNS, normalized_ellipses
from overread.tables import check_study, raise_or_warn, schema_of
from overread.truth._grouping import (
    Pairs,
    components,
    density_clusters,
    fusion,
    hitting_pairs,
    mark_sizes,
    overlapping_pairs,
    stars,
)
from overread.truth._hits import EllipseHit, pairs_within_reach
from overread.truth._labels import soft_labels
from overread.truth._options import LabelOptions, MergeOptions


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


def _codes(ids: pd.Series[str]) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    """Rank of each id among the sorted different ids, and these."""
    ranks, names = pd.factorize(ids, sort=True)
    return ranks.astype(np.int64), np.asarray(names, dtype=object)


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A centre in the ellipse as it was drawn.
INSIDE = EllipseHit(min_semi_axis=0.0)


def nested_pairs(
    codes: IntArray, ellipses: FloatArray, other_codes: IntArray, others: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the rows of the pairs of one group of which one holds the other's centre, sorted by both.

    Parameters
    ----------
    codes, other_codes
        Group of each row; only rows of one group are compared.
    ellipses, others
        Rows of x, y, a, b, angle.
    """
    first, second = pairs_within_reach(codes, ellipses, ellipses[:, 2], other_codes, others, others[:, 2])
    one, other = ellipses[first], others[second]
    keep = INSIDE.hits(one[:, :2], other) | INSIDE.hits(other[:, :2], one)
    first, second = first[keep], second[keep]
    order = np.lexsort((second, first))
    return first[order], second[order]


def find_votes(
    marks: MarkArrays, groups: IntArray, object_codes: IntArray, ellipses: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return object and mark of every vote across scales: by readers who have no mark of their own in the object."""
    objects, voting = nested_pairs(object_codes, ellipses, marks.group, marks.ellipses)
    n_readers = int(marks.reader.max(initial=0)) + 1
    own = np.unique(groups * n_readers + marks.reader)
    keep = ~np.isin(objects * n_readers + marks.reader[voting], own)
    return objects[keep], voting[keep]


def merge_marks(
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    options: MergeOptions | None = None,
    labels: LabelOptions | None = None,
    in_mm: bool = True,
) -> pd.DataFrame:
    """Merge marks that stand for the same object, and label the objects.

    Parameters
    ----------
    marks
        image_id, reader_id, mark_id, x, y, semi_major, semi_minor, angle_deg; optional label
        (marks of different labels stay apart) and confidence (weights of the method "fusion").
    readings
        image_id, reader_id: a row for every reading, also where the reader marked nothing.
    options
        How marks become objects; see `MergeOptions`.
    labels
        How the number of readers becomes a probability; see `LabelOptions`.
    in_mm
        Whether lengths are in mm, so that marks larger than a radiograph are refused; other units know no such bound.

    Returns
    -------
    DataFrame
        One row per object, sorted by image_id and falling n_readers: image_id, truth_id, the representative
        ellipse, n_marks, n_readers, n_readings, probability, weight, golden, mark_ids (a tuple, sorted), and
        label where labels are kept apart, and nested_mark_ids where marks vote across scales: those that count
        in n_readers and are not among mark_ids. truth_id depends on the image and its marks only. The table does
        not depend on the order of the rows given.

    Raises
    ------
    TableError
        For tables that cannot be used; the message names rows and columns.
    """
    raise_or_warn(check_study(marks, readings, in_mm=in_mm))
    truth = soft_labels(merge_objects(marks, readings, options or MergeOptions()), readings, options=labels)
    return truth[[column.name for column in schema_of("truth").columns if column.name in truth]]


def merge_objects(marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions) -> pd.DataFrame:
    """Merge validated marks into objects without probability and weight; golden means two readers."""
    arrays = MarkArrays.from_table(marks, options)
    groups, ellipses = group_marks(arrays, options, find_pairs(arrays, options))
    return _truth_table(arrays, groups, ellipses, readings, options)


def find_pairs(marks: MarkArrays, options: MergeOptions) -> Pairs | None:
    """Find the pairs of marks that groups are made of, whoever drew them; None for "fusion", which asks for none."""
    if options.method == "fusion":
        return None
    if options.method == "dbscan":
        return overlapping_pairs(marks.group, marks.ellipses)
    return hitting_pairs(marks.group, marks.ellipses, options)


def group_marks(marks: MarkArrays, options: MergeOptions, found: Pairs | None) -> tuple[IntArray, FloatArray]:
    """Group of each mark, and each group's representative ellipse; `found` is what `find_pairs` finds."""
    if found is None:
        return fusion(marks.group, marks.ellipses, marks.reader, marks.confidence, options)
    pairs = found
    if not options.same_reader_hits:
        pairs = pairs.where(marks.reader[pairs.first] != marks.reader[pairs.second])
    if options.method == "dbscan":
        groups = density_clusters(pairs, len(marks), options)
    else:
        if options.method == "star":
            groups = stars(pairs, mark_sizes(marks.ellipses, options))
        else:
            groups = components(pairs, len(marks))
        if options.merge_coinciding:
            groups = _merge_coinciding_groups(marks, groups, found, options)
    return groups, marks.ellipses[_representatives(marks, groups, options)]


def _merge_coinciding_groups(
    marks: MarkArrays, groups: IntArray, found: Pairs, options: MergeOptions
) -> IntArray:
    """Merge groups with representatives that hit each other, whoever drew them, until none do."""
    while True:
        chosen = _representatives(marks, groups, options)
        pairs = found.among(chosen, len(marks))
        if not len(pairs):
            return groups
        groups = stars(pairs, mark_sizes(marks.ellipses[chosen], options))[groups]


def _representatives(marks: MarkArrays, groups: IntArray, options: MergeOptions) -> IntArray:
    """Row of the mark that represents each group: the lower median by size; of two, as the options say."""
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
            drawn = ids[_digest(options.seed, marks.image_ids[marks.image[first]], ids)[0] & 1]
            place[group] += int(marks.mark_ids[second] == drawn)
    return np.asarray(order[place])


def _truth_table(
    marks: MarkArrays, groups: IntArray, ellipses: FloatArray, readings: pd.DataFrame, options: MergeOptions
) -> pd.DataFrame:
    """Table of the groups with their counts, sorted by image, falling number of readers and id."""
    order = np.argsort(groups, kind="stable")
    n_marks = np.bincount(groups)
    starts = np.cumsum(n_marks) - n_marks
    image_ids = marks.image_ids[marks.image[order[starts]]]
    ids = marks.mark_ids[order].tolist()
    members = [tuple(sorted(ids[start : start + n])) for start, n in zip(starts, n_marks, strict=True)]
    n_readings = readings.groupby("image_id", sort=False).size()
    n_readers, objects, voting = count_readers(marks, groups, ellipses, options)
    table = pd.DataFrame(
        {
            "image_id": pd.Series(image_ids, dtype="str"),
            "truth_id": pd.Series(map(truth_id, image_ids, members), dtype="str"),
            **dict(zip(ELLIPSE_COLUMNS, ellipses.T, strict=True)),
            "n_marks": n_marks,
            "n_readers": n_readers,
            "golden": n_readers >= 2,
            "n_readings": n_readings.reindex(image_ids).to_numpy(dtype=np.int64),
            "mark_ids": pd.Series(members, dtype=object),
        }
    )
    if options.nested == "votes":
        ends = np.searchsorted(objects, np.arange(len(n_marks) + 1))
        votes = [tuple(sorted(marks.mark_ids[voting[a:b]])) for a, b in pairwise(ends)]
        table["nested_mark_ids"] = pd.Series(votes, dtype=object)
    if marks.labels is not None:
        table["label"] = pd.Series(marks.labels[marks.label[order[starts]]], dtype="str")
    rows = table.assign(image_id=marks.image[order[starts]], n_readers=-table["n_readers"], n_marks=-n_marks)
    rows = rows.sort_values(["image_id", "n_readers", "n_marks", "truth_id"])
    return table.loc[rows.index].reset_index(drop=True)


def count_readers(
    marks: MarkArrays, groups: IntArray, ellipses: FloatArray, options: MergeOptions
) -> tuple[IntArray, IntArray, IntArray]:
    """Count the readers of each group; with them, object and mark of each vote across scales."""
    objects, voting = np.empty(0, np.int64), np.empty(0, np.int64)
    if options.nested == "votes":
        objects, voting = find_votes(marks, groups, codes_of_groups(marks, groups), ellipses)
    n_readers = _n_different(
        np.concatenate([groups, objects]), np.concatenate([marks.reader, marks.reader[voting]])
    )
    return n_readers, objects, voting


def codes_of_groups(marks: MarkArrays, groups: IntArray) -> IntArray:
    """Code of image and label of each group."""
    codes = np.empty(int(groups.max(initial=-1)) + 1, np.int64)
    codes[groups] = marks.group
    return codes


def _n_different(groups: IntArray, codes: IntArray) -> IntArray:
    """Count the different codes of each group."""
    both = np.unique(groups * (codes.max(initial=0) + 1) + codes)
    return np.bincount(both // (codes.max(initial=0) + 1))


def truth_id(image_id: str, mark_ids: tuple[str, ...]) -> str:
    """Name of an object: depends on its image and its marks only, not on the other objects."""
    return "T" + _digest(0, image_id, mark_ids).hex()


def _digest(seed: int, image_id: str, mark_ids: Sequence[str]) -> bytes:
    """Eight bytes that look random and depend on the seed, the image and the marks only."""
    # lengths keep ["a", "bc"] and ["ab", "c"] apart
    text = "".join([f"{len(part)}:{part}" for part in (str(seed), image_id, *mark_ids)])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
