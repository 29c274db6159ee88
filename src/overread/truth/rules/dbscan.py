"""DBSCAN on the distance 1 - IoU, as panoptes_aggregation groups marks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.truth._mark_arrays import MarkArrays
from overread.truth._options import MergeOptions
from overread.truth._pairs import Pairs
from overread.truth.rules import GroupingRule
from overread.truth.rules.star import between_readers, components

IntArray = NDArray[np.int64]


def group_by_density(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by DBSCAN, with the marks of different readers as neighbours unless the options say all."""
    return density_clusters(between_readers(marks, pairs, options), len(marks), options)


def density_clusters(pairs: Pairs, n: int, options: MergeOptions) -> IntArray:
    """Group of each row by DBSCAN on 1 - IoU; noise gives groups of one.

    A mark is a core when at least `dbscan_min_marks` marks, itself included, lie within `dbscan_eps`. Cores
    within eps of each other share a group; another mark joins the core that it overlaps most.
    """
    near = pairs.where(1.0 - pairs.iou <= options.dbscan_eps)
    neighbours = 1 + np.bincount(near.first, minlength=n) + np.bincount(near.second, minlength=n)
    core = neighbours >= options.dbscan_min_marks
    groups = components(near.where(core[near.first] & core[near.second]), n)
    border = np.concatenate([near.second, near.first])
    to_core = np.concatenate([near.first, near.second])
    iou = np.concatenate([near.iou, near.iou])
    keep = core[to_core] & ~core[border]
    border, to_core, iou = border[keep], to_core[keep], iou[keep]
    best_last = np.lexsort((-to_core, iou))
    groups[border[best_last]] = groups[to_core[best_last]]
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


DBSCAN = GroupingRule("dbscan", group_by_density)
