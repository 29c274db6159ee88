"""The built-in grouping rules.

star: the paper's stars (section 2.1, steps 2 to 5); components: connected components of the same hitting marks; dbscan:
DBSCAN on the distance 1 - IoU, like panoptes_aggregation; fusion: weighted boxes fusion (Solovyev, Wang and Gabruseva,
2021) of ellipses; linkage: average linkage on the IoU of marks, at most one mark per reader in a group.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from overread.truth._grouping import GroupingRule
from overread.truth._kernels import fuse_groups, link_parts, star_groups
from overread.truth._mark_arrays import MarkArrays, Pairs, hitting_pairs, mark_sizes, representatives
from overread.truth._options import MergeOptions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def group_by_stars(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by stars of hitting marks; stars whose representatives hit each other are merged."""
    hits = hitting_pairs(pairs, marks.ellipses, marks.ellipses, options)
    groups = stars(between_readers(marks, hits, options), mark_sizes(marks.ellipses, options))
    return _merge_coinciding(marks, groups, hits, options)


def group_by_components(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by connected components of hitting marks, merged like stars."""
    hits = hitting_pairs(pairs, marks.ellipses, marks.ellipses, options)
    groups = components(between_readers(marks, hits, options), len(marks))
    return _merge_coinciding(marks, groups, hits, options)


def between_readers(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> Pairs:
    """Pairs of different readers; all pairs if the options allow same-reader hits."""
    if options.same_reader_hits:
        return pairs
    return pairs.where(marks.reader[pairs.first] != marks.reader[pairs.second])


def _merge_coinciding(marks: MarkArrays, groups: IntArray, hits: Pairs, options: MergeOptions) -> IntArray:
    """Merge groups whose representatives hit each other, of any readers, until none do."""
    while options.merge_coinciding:
        chosen = representatives(marks, groups, options)
        pairs = hits.among(chosen, len(marks))
        if not len(pairs):
            break
        groups = stars(pairs, mark_sizes(marks.ellipses[chosen], options))[groups]
    return groups


def stars(pairs: Pairs, sizes: FloatArray) -> IntArray:
    """Group of each row by the paper's steps 2 to 5.

    A mark's score is the number of marks that it hits, computed once. The mark of the largest score seeds a group with
    all its remaining hitting marks; this repeats without them. Ties: the larger total of shares, then the larger size,
    then the order of the rows.
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


def group_by_density(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by DBSCAN; neighbours are marks of different readers, unless the options allow all."""
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


def group_by_fusion(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark: marks join the running mean ellipse that they overlap most.

    Marks are processed by decreasing confidence, then area. A mark joins the mean with the largest IoU above
    `fusion_iou` that does not contain its reader; otherwise it starts a group.
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


def group_by_linkage(marks: MarkArrays, pairs: Pairs, options: MergeOptions) -> IntArray:
    """Group of each mark by agglomerative clustering.

    The two groups with the largest mean IoU over all pairs of their marks are joined, until no mean is above
    `linkage_iou`. Groups that share a reader are never joined: two marks of a reader mean two objects. Two groups whose
    mean is above the limit have a pair above it, so that only connected components of such pairs are searched.
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


RULES = (
    GroupingRule("star", group_by_stars, threshold="t0"),
    GroupingRule("components", group_by_components, threshold="t0"),
    GroupingRule("dbscan", group_by_density),
    GroupingRule("fusion", group_by_fusion, threshold="fusion_iou", outline="mean", uses_pairs=False),
    GroupingRule("linkage", group_by_linkage, threshold="linkage_iou", outline="mean"),
)
