"""Average linkage on the IoU of marks, each reader once in a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.truth._kernels import link_parts
from overread.truth._mark_arrays import MarkArrays
from overread.truth._options import MergeOptions
from overread.truth._pairs import Pairs
from overread.truth.rules import GroupingRule
from overread.truth.rules.star import between_readers, components


def group_by_linkage(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> NDArray[np.int64]:
    """Group of each mark by agglomerative clustering.

    The two groups with the largest mean IoU over all pairs of their marks are joined, until no mean is above
    `linkage_iou`. Groups that share a reader are never joined: a reader who draws two marks means two objects. Two
    groups whose mean is above the limit have a pair above it, so that only connected components of such pairs are
    searched.
    """
    pairs = between_readers(marks, pairs, options)
    parts = components(pairs.where(pairs.iou > options.linkage_iou), len(marks))
    pairs = pairs.where(parts[pairs.first] == parts[pairs.second])
    rows = np.argsort(parts, kind="stable")
    by_part = np.argsort(parts[pairs.first], kind="stable")
    numbers = np.arange(parts.max(initial=-1) + 2)
    return link_parts(
        rows,
        np.searchsorted(parts[rows], numbers),
        pairs.first[by_part],
        pairs.second[by_part],
        pairs.iou[by_part],
        np.searchsorted(parts[pairs.first][by_part], numbers),
        np.arange(len(marks)) if options.same_reader_hits else marks.reader,
        options.linkage_iou,
    )


LINKAGE = GroupingRule("linkage", group_by_linkage, threshold="linkage_iou", outline="mean")
