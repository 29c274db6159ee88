"""Readers who see at different scales: one draws a ring, another the lesions inside it (paper, Figure 1, top row).

Such marks overlap too little to be hitting marks. With `MergeOptions(nested="votes")` a mark whose ellipse holds the
centre of an object, or whose centre lies in the object's ellipse, is a vote of its reader for that object. The
geometry of the objects, and which marks they are made of, stay as they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.truth.hit_rules import EllipseHit
from overread.truth.hits import pairs_within_reach
from overread.truth.mark_arrays import MarkArrays

__all__ = ["INSIDE", "find_votes", "nested_pairs"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

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
