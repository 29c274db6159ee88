"""Readers who see at different scales: one draws a ring, another the lesions inside it (paper, Figure 1, top row).

Such marks overlap too little to be hitting marks. With `MergeOptions(nested="votes")` a mark whose ellipse holds the
centre of an object, or whose centre lies in the object's ellipse, is a vote of its reader for that object. The
geometry of the objects, and which marks they are made of, stay as they were.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.truth.hit_rules import EllipseHit
from overread.truth.hits import pairs_within_reach
from overread.truth.mark_arrays import MarkArrays
from overread.truth.options import MergeOptions

__all__ = ["INSIDE", "count_touched", "find_votes", "nested_pairs", "tell_touched"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Share of single-reader objects from which the touching is worth a word: at 5 % (LIDC) votes move the prediction of a
# reader who was left out by 0.01 in AUC, at 27 % and more (VinDr, nih-240x3, DIARETDB1) by 0.06 to 0.19
# (docs/explanation/merging.md).
TOLD_FROM = 0.1
# A centre in the ellipse as it was drawn.
INSIDE = EllipseHit(min_semi_axis_mm=0.0)


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


def count_touched(truth: pd.DataFrame, marks: pd.DataFrame) -> tuple[int, int]:
    """Count the objects of one reader that touch another reader's mark as nested marks do, and all of one reader.

    Parameters
    ----------
    truth
        Objects as `merge_marks` gives them without nested votes.
    marks
        The marks that they were made of.
    """
    single = truth[truth["n_readers"] == 1]
    arrays = MarkArrays.from_table(marks, MergeOptions(labels="separate" if "label" in truth else "ignore"))
    place = {
        key: row for row, key in enumerate(zip(arrays.image_ids[arrays.image], arrays.mark_ids, strict=True))
    }
    rows = np.array(
        [place[image, ids[0]] for image, ids in zip(single["image_id"], single["mark_ids"], strict=True)],
        dtype=np.int64,
    )
    ellipses = single[list(ELLIPSE_COLUMNS)].to_numpy(np.float64)
    objects, touching = nested_pairs(arrays.group[rows], ellipses, arrays.group, arrays.ellipses)
    others = arrays.reader[touching] != arrays.reader[rows][objects]
    return len(np.unique(objects[others])), len(single)


def tell_touched(truth: pd.DataFrame, marks: pd.DataFrame) -> str | None:
    """Say what share of the objects of one reader touches another's mark, and what to do; None where it is small."""
    if "nested_mark_ids" in truth:
        return None
    touched, single = count_touched(truth, marks)
    if touched < TOLD_FROM * single or not touched:
        return None
    return (
        f"{touched} of {single} objects of one reader ({100 * touched / single:.0f} %) touch another reader's mark: "
        'the readers may see at different scales; nested = "votes" ([merging] in study.toml, merge --nested votes) '
        "counts such marks (docs/explanation/merging.md)"
    )
