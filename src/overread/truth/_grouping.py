"""Which marks hit each other: step 1 of the paper's merging (section 2.1).

Split marks into groups that stand for one object each: the paper's stars, and three other ways.

Rows come in an order that depends on the marks' content only, so that ties never depend on the input's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from overread.marks import equal_area_diameters, overlap_areas
from overread.truth._hits import pairs_within_reach
from overread.truth._kernels import fuse_groups, star_groups
from overread.truth._options import MergeOptions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
        """Return the pairs of which both are among `rows` of a table of n, numbered by their place there."""
        place = np.full(n, -1, np.int64)
        place[rows] = np.arange(len(rows))
        first, second = place[self.first], place[self.second]
        return Pairs(first, second, self.share, self.iou).where((first >= 0) & (second >= 0))


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
    """Pairs of one group that share area; within one table (each pair once), or between two tables."""
    reach = ellipses[:, 2]
    if others is None or other_groups is None:
        first, second = pairs_within_reach(groups, ellipses, reach, groups, ellipses, reach)
        once = first < second
        first, second, others = first[once], second[once], ellipses
    else:
        first, second = pairs_within_reach(groups, ellipses, reach, other_groups, others, others[:, 2])
    shared = overlap_areas(ellipses[first], others[second])
    area, other_area = (
        np.pi * ellipses[first, 2] * ellipses[first, 3],
        np.pi * others[second, 2] * others[second, 3],
    )
    pairs = Pairs(first, second, shared / np.maximum(area, other_area), shared / (area + other_area - shared))
    return pairs.where(shared > 0.0)


def hitting_pairs(
    groups: IntArray,
    ellipses: FloatArray,
    options: MergeOptions,
    *,
    readers: IntArray | None = None,
    other_groups: IntArray | None = None,
    others: FloatArray | None = None,
) -> Pairs:
    """Pairs with S_ij / max(S_i, S_j) > T; never of one reader where `readers` are given."""
    pairs = overlapping_pairs(groups, ellipses, other_groups, others)
    if readers is not None:
        pairs = pairs.where(readers[pairs.first] != readers[pairs.second])
    table = ellipses if others is None else others
    return pairs.where(pairs.share > thresholds(ellipses[pairs.first], table[pairs.second], options))


def thresholds(first: FloatArray, second: FloatArray, options: MergeOptions) -> FloatArray:
    """Threshold T of each pair.

    T = min(T0, T0 / 20 max(D_i, D_j)) for a pair that is similar in size and position, else
    T = min(T0, T0 / 20 min(D_i, D_j)); sizes D in mm.
    """
    if options.threshold == "fixed":
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


def stars(pairs: Pairs, sizes: FloatArray) -> IntArray:
    """Group of each row by the paper's steps 2 to 5.

    A mark's score is the number of marks that it hits, computed once. The mark of the largest score seeds a
    group with all its hitting marks that are still on the list; they leave the list, and so on. Ties: the
    larger total of shares, then the larger size, then the order of the rows.
    """
    n = len(sizes)
    score = np.bincount(pairs.first, minlength=n) + np.bincount(pairs.second, minlength=n)
    total = np.bincount(pairs.first, pairs.share, n) + np.bincount(pairs.second, pairs.share, n)
    order = np.lexsort((np.arange(n), -sizes, -total, -score))
    graph = _symmetric(pairs.first, pairs.second, n)
    return star_groups(order, graph.indptr.astype(np.int64), graph.indices.astype(np.int64))


def components(pairs: Pairs, n: int) -> IntArray:
    """Group of each row: the connected components of the pairs."""
    _, groups = connected_components(_symmetric(pairs.first, pairs.second, n), directed=False)
    return np.asarray(groups, dtype=np.int64)


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


def fusion(
    images: IntArray, ellipses: FloatArray, readers: IntArray, confidence: FloatArray, options: MergeOptions
) -> tuple[IntArray, FloatArray]:
    """Group of each row and each group's average ellipse, after weighted boxes fusion.

    Marks come by falling confidence. A mark joins the running average that it overlaps by the largest IoU
    above `fusion_iou`, unless its reader is in it already; else it starts one. The average has the
    confidence-weighted mean of the centres and of the second moments.
    """
    areas = ellipses[:, 2] * ellipses[:, 3]
    order = np.lexsort((np.arange(len(images)), -areas, -confidence, images))
    starts = np.searchsorted(images[order], np.arange(images.max(initial=-1) + 2))
    readers = np.full_like(readers, -1) if options.same_reader_hits else readers
    groups, averages = fuse_groups(
        starts,
        ellipses[order],
        readers[order],
        confidence[order],
        options.fusion_iou,
    )
    unsorted = np.empty_like(groups)
    unsorted[order] = groups
    return unsorted, averages


def _symmetric(first: IntArray, second: IntArray, n: int) -> csr_array:
    """Adjacency of an undirected graph with n nodes."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = coo_array((np.ones(2 * len(first), dtype=np.int8), ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph
