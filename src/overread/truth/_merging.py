"""Merge the marks of several readers into one table of objects (paper, sections 2.1 and 3).

Readers may mark at different scales: one draws a ring, another the lesions inside it (paper, Figure 1, top row).

Such marks overlap too little to be hitting marks. With `MergeOptions(nested="votes")` a mark whose ellipse contains the
centre of an object, or whose centre lies in the object's ellipse, is a vote of its reader for that object. The geometry
and the marks of the objects do not change.
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.marks import ELLIPSE_COLUMNS
from overread.tables import LengthUnit, check_study, named, plain, raise_or_warn, schema_of
from overread.truth._grouping import find_rule
from overread.truth._hits import EllipseHit, pairs_within_reach
from overread.truth._labels import soft_labels
from overread.truth._mark_arrays import (
    NO_PAIRS,
    MarkArrays,
    Pairs,
    digest,
    mean_ellipses,
    outline_spread,
    overlapping_pairs,
    representatives,
)
from overread.truth._options import LabelOptions, MergeOptions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# A centre in the unchanged ellipse.
INSIDE = EllipseHit(min_semi_axis=0.0)


def nested_pairs(
    codes: IntArray, ellipses: FloatArray, other_codes: IntArray, others: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return the rows of the pairs within a group of which one contains the other's centre, sorted by both.

    Parameters
    ----------
    codes, other_codes
        Group of each row; only rows with the same group are compared.
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
    """Return object and mark of every vote across scales, by readers without a mark in the object."""
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
    unit: LengthUnit | None = None,
) -> pd.DataFrame:
    """Merge marks of the same object, and compute the objects' labels.

    Parameters
    ----------
    marks
        image_id, reader_id, mark_id, x_mm, y_mm, semi_major_mm, semi_minor_mm, angle_deg (or _px, _percent in place of
        _mm: see ``unit``); optional label (marks of different labels are not merged) and confidence (weights of the
        method "fusion").
    readings
        image_id, reader_id: one row per reading, also without marks.
    options
        Options for merging; see `MergeOptions`.
    labels
        Options for soft labels; see `LabelOptions`.
    unit
        Unit of lengths with plain names (x, y, semi_major, semi_minor); None: their names end in it. Lengths in px or
        percent need `MergeOptions.full_size` in that unit.

    Returns
    -------
    DataFrame
        One row per object, with lengths in the unit of the marks, sorted by image_id and decreasing n_readers:
        image_id, truth_id, the ellipse, n_marks, n_readers, n_readings, probability, weight, golden, mark_ids (a tuple,
        sorted), label if labels are separate, mark_iou and mark_distance if the ellipse is the mean of the marks, and
        nested_mark_ids if marks vote across scales: the marks that count in n_readers but are not among mark_ids.
        truth_id depends only on the image and the object's marks. The table does not depend on the order of the given
        rows.

    Raises
    ------
    TableError
        If the tables are invalid; the message names rows and columns.
    InvalidInputError
        If marks are not in mm and the options have no full size.
    """
    marks, unit = plain(marks, unit, "marks")
    raise_or_warn(check_study(named(marks, unit), readings))
    merged = merge_objects(marks, readings, (options or MergeOptions()).in_unit(unit))
    truth = soft_labels(merged, readings, options=labels)
    return named(truth[[column.name for column in schema_of("truth").columns if column.name in truth]], unit)


def merge_objects(marks: pd.DataFrame, readings: pd.DataFrame, options: MergeOptions) -> pd.DataFrame:
    """Merge validated marks with plain names into objects without probability and weight; golden: two readers."""
    arrays = MarkArrays.from_table(marks, options)
    groups, ellipses = group_marks(arrays, options)
    return _truth_table(arrays, groups, ellipses, readings, options)


def find_pairs(marks: MarkArrays, options: MergeOptions) -> Pairs:
    """Find the overlapping marks of any readers; empty if the rule does not use them."""
    if not find_rule(options.method).uses_pairs:
        return NO_PAIRS
    return overlapping_pairs(marks.group, marks.ellipses)


def group_marks(
    marks: MarkArrays, options: MergeOptions, pairs: Pairs | None = None
) -> tuple[IntArray, FloatArray]:
    """Group of each mark, and each group's outline.

    Parameters
    ----------
    marks, options
        Marks, and the options for merging.
    pairs
        Result of `find_pairs`, if known. By default the marks are grouped some images at a time, so that the pairs of
        all images are never in memory together.
    """
    rule = find_rule(options.method)
    if pairs is not None:
        groups = rule.group(marks, pairs, options)
    else:
        groups, found = np.empty(len(marks), np.int64), 0
        for rows in marks.parts():
            part = marks.take(rows)
            groups[rows] = found + rule.group(part, find_pairs(part, options), options)
            found = int(groups[rows].max()) + 1
    if _has_mean_outlines(options):
        return groups, mean_ellipses(marks.ellipses, groups, marks.confidence)
    return groups, marks.ellipses[representatives(marks, groups, options)]


def _has_mean_outlines(options: MergeOptions) -> bool:
    return (options.outline or find_rule(options.method).outline) == "mean"


def _truth_table(
    marks: MarkArrays, groups: IntArray, ellipses: FloatArray, readings: pd.DataFrame, options: MergeOptions
) -> pd.DataFrame:
    """Table of the groups with their counts, sorted by image, decreasing number of readers and id."""
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
    if _has_mean_outlines(options):
        table["mark_iou"], table["mark_distance"] = outline_spread(marks.ellipses, groups, ellipses)
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
    n_codes = marks.reader.max(initial=0) + 1
    owners, readers = np.concatenate([groups, objects]), np.concatenate([marks.reader, marks.reader[voting]])
    return np.bincount(np.unique(owners * n_codes + readers) // n_codes), objects, voting


def codes_of_groups(marks: MarkArrays, groups: IntArray) -> IntArray:
    """Code of image and label of each group."""
    codes = np.empty(int(groups.max(initial=-1)) + 1, np.int64)
    codes[groups] = marks.group
    return codes


def truth_id(image_id: str, mark_ids: tuple[str, ...]) -> str:
    """Id of an object, which depends only on its image and marks."""
    return "T" + digest(0, image_id, mark_ids).hex()
