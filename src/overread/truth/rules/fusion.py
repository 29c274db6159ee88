"""Weighted boxes fusion (Solovyev, Wang and Gabruseva, 2021) of ellipses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.truth._kernels import fuse_groups
from overread.truth._mark_arrays import MarkArrays
from overread.truth._options import MergeOptions
from overread.truth._pairs import Pairs
from overread.truth.rules import GroupingRule


def group_by_fusion(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> NDArray[np.int64]:
    """Group of each mark: marks join the running mean ellipse that they overlap most.

    Marks come by falling confidence, then falling area. A mark joins the mean with the largest IoU above
    `fusion_iou`, unless its reader is in it already; else it starts a group.
    """
    areas = marks.ellipses[:, 2] * marks.ellipses[:, 3]
    order = np.lexsort((np.arange(len(marks)), -areas, -marks.confidence, marks.group))
    starts = np.searchsorted(marks.group[order], np.arange(marks.group.max(initial=-1) + 2))
    readers = np.full_like(marks.reader, -1) if options.same_reader_hits else marks.reader
    groups = np.empty(len(marks), np.int64)
    groups[order] = fuse_groups(
        starts, marks.ellipses[order], readers[order], marks.confidence[order], options.fusion_iou
    )
    return groups


FUSION = GroupingRule("fusion", group_by_fusion, threshold="fusion_iou", outline="mean", uses_pairs=False)
