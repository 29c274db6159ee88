"""The paper's stars (section 2.1, steps 2 to 5), and connected components of the same hitting marks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from overread.truth._kernels import star_groups
from overread.truth._mark_arrays import MarkArrays
from overread.truth._options import MergeOptions
from overread.truth._outlines import representatives
from overread.truth._pairs import Pairs, hitting_pairs, mark_sizes
from overread.truth.rules import GroupingRule

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def group_by_stars(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by stars of hitting marks; stars whose representatives hit each other are merged."""
    hits = hitting_pairs(pairs, marks.ellipses, marks.ellipses, options)
    groups = stars(between_readers(marks, hits, options), mark_sizes(marks.ellipses, options))
    return _merge_coinciding(marks, groups, hits, options)


def group_by_components(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by connected components of hitting marks, merged in the same way."""
    hits = hitting_pairs(pairs, marks.ellipses, marks.ellipses, options)
    groups = components(between_readers(marks, hits, options), len(marks))
    return _merge_coinciding(marks, groups, hits, options)


def between_readers(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> Pairs:
    """Pairs of different readers; all pairs where the options let a reader's marks hit each other."""
    if options.same_reader_hits:
        return pairs
    return pairs.where(marks.reader[pairs.first] != marks.reader[pairs.second])


def _merge_coinciding(marks: MarkArrays, groups: IntArray, hits: Pairs, options: MergeOptions) -> IntArray:
    """Merge groups with representatives that hit each other, whoever drew them, until none do."""
    while options.merge_coinciding:
        chosen = representatives(marks, groups, options)
        pairs = hits.among(chosen, len(marks))
        if not len(pairs):
            break
        groups = stars(pairs, mark_sizes(marks.ellipses[chosen], options))[groups]
    return groups


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


def _symmetric(first: IntArray, second: IntArray, n: int) -> csr_array:
    """Adjacency of an undirected graph with n nodes."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    graph = coo_array((np.ones(2 * len(first), dtype=np.int8), ends), shape=(n, n)).tocsr()
    graph.sort_indices()
    return graph


STAR = GroupingRule("star", group_by_stars, threshold="t0")
COMPONENTS = GroupingRule("components", group_by_components, threshold="t0")
