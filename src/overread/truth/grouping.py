"""Split marks into groups that stand for one object each: the paper's stars, and three other ways.

Rows come in an order that depends on the marks' content only, so that ties never depend on the input's order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from overread.truth._kernels import fuse_groups, star_groups
from overread.truth.options import MergeOptions
from overread.truth.pairs import Pairs

__all__ = ["components", "density_clusters", "fusion", "stars"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    graph = symmetric(pairs.first, pairs.second, n)
    return star_groups(order, graph.indptr.astype(np.int64), graph.indices.astype(np.int64))


def components(pairs: Pairs, n: int) -> IntArray:
    """Group of each row: the connected components of the pairs."""
    _, groups = connected_components(symmetric(pairs.first, pairs.second, n), directed=False)
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


def symmetric(first: IntArray, second: IntArray, n: int) -> csr_array:
    """Adjacency of an undirected graph with n nodes."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = coo_array((np.ones(2 * len(first), dtype=np.int8), ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph
