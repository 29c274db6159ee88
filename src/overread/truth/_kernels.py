"""Compiled parts of `overread.truth`: pairs that lie near each other, and groups of marks."""

import math

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.marks import overlap_one

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def near_pairs(
    starts: IntArray,
    points: FloatArray,
    reach: FloatArray,
    other_starts: IntArray,
    other_points: FloatArray,
    other_reach: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Pairs (row, other row) of one group whose distance is at most the sum of their reaches.

    Rows of both tables are sorted by group; group g has the rows starts[g] to starts[g + 1]. Within a group the other
    rows are visited by increasing x, only from the first to the last that a row can reach.
    """
    n_groups = len(starts) - 1
    order, along = np.empty(len(other_points), np.int64), np.empty(len(other_points))
    widest = np.zeros(n_groups)
    for group in range(n_groups):
        low, high = other_starts[group], other_starts[group + 1]
        order[low:high] = low + np.argsort(other_points[low:high, 0])
        for place in range(low, high):
            along[place] = other_points[order[place], 0]
            widest[group] = max(widest[group], other_reach[place])
    rows, others = np.empty(0, np.int64), np.empty(0, np.int64)
    for fill in (False, True):
        found = 0
        for group in range(n_groups):
            low, high = other_starts[group], other_starts[group + 1]
            for i in range(starts[group], starts[group + 1]):
                x, far, first = points[i, 0], reach[i] + widest[group], found
                far += 1e-9 * (abs(x) + far)  # rounding must not lose a touching pair
                for place in range(low + np.searchsorted(along[low:high], x - far), high):
                    if along[place] > x + far:
                        break
                    j = order[place]
                    dx, dy = other_points[j, 0] - x, other_points[j, 1] - points[i, 1]
                    limit = reach[i] + other_reach[j]
                    if dx * dx + dy * dy <= limit * limit:
                        if fill:
                            rows[found], others[found] = i, j
                        found += 1
                if fill:
                    others[first:found].sort()
        if not fill:
            rows, others = np.empty(found, np.int64), np.empty(found, np.int64)
    return rows, others


@kernel
def star_groups(order: IntArray, starts: IntArray, neighbours: IntArray) -> IntArray:
    """Group of each row: rows in `order` seed a group with their neighbours that have no group yet."""
    groups = np.full(len(order), -1, np.int64)
    found = 0
    for seed in order:
        if groups[seed] >= 0:
            continue
        groups[seed] = found
        for place in range(starts[seed], starts[seed + 1]):
            if groups[neighbours[place]] < 0:
                groups[neighbours[place]] = found
        found += 1
    return groups


@kernel
def _add_to_sums(sums: FloatArray, ellipse: FloatArray, weight: float) -> None:
    """Add an ellipse to running sums of weight, centre and matrix R diag(a, b) R^T (xx, xy, yy)."""
    c, s = math.cos(math.radians(ellipse[4])), math.sin(math.radians(ellipse[4]))
    sums[0] += weight
    sums[1] += weight * ellipse[0]
    sums[2] += weight * ellipse[1]
    sums[3] += weight * (ellipse[2] * c * c + ellipse[3] * s * s)
    sums[4] += weight * (ellipse[2] - ellipse[3]) * c * s
    sums[5] += weight * (ellipse[2] * s * s + ellipse[3] * c * c)


@kernel
def _mean_of_sums(sums: FloatArray, ellipse: FloatArray) -> None:
    """Write the ellipse with the mean centre and the mean matrix of running sums."""
    ellipse[0], ellipse[1] = sums[1] / sums[0], sums[2] / sums[0]
    xx, xy, yy = sums[3] / sums[0], sums[4] / sums[0], sums[5] / sums[0]
    major = 0.5 * (xx + yy + math.hypot(xx - yy, 2.0 * xy))
    ellipse[2], ellipse[3] = major, max((xx * yy - xy * xy) / major, 0.0)
    ellipse[4] = math.degrees(0.5 * math.atan2(2.0 * xy, xx - yy)) % 180.0


@kernel
def fuse_groups(
    starts: IntArray,
    ellipses: FloatArray,
    readers: IntArray,
    weights: FloatArray,
    least_iou: float,
) -> IntArray:
    """Group of each row; rows come sorted by image, then in the order of joining.

    A reader joins a group once; codes below 0 never count as the same reader.
    """
    n = len(ellipses)
    groups, sums, means = np.full(n, -1, np.int64), np.zeros((n, 6)), np.zeros((n, 5))
    # Rows of one reader and image form a chain from the latest back; taken[group] is the last row that may not join.
    n_readers = max(readers.max(), 0) + 1 if n else 1
    latest, before, taken = (
        np.full(n_readers, -1, np.int64),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
    )
    found = 0
    for image in range(len(starts) - 1):
        first = found
        for row in range(starts[image], starts[image + 1]):
            if readers[row] >= 0:
                other = latest[readers[row]]
                while other >= starts[image]:
                    taken[groups[other]] = row
                    other = before[other]
                before[row], latest[readers[row]] = latest[readers[row]], row
            best, best_iou = -1, least_iou
            for group in range(first, found):
                if taken[group] == row:
                    continue
                shared = overlap_one(ellipses[row], means[group])
                areas = ellipses[row, 2] * ellipses[row, 3] + means[group, 2] * means[group, 3]
                iou = shared / (math.pi * areas - shared)
                if iou > best_iou:
                    best, best_iou = group, iou
            if best < 0:
                best = found
                found += 1
            groups[row] = best
            _add_to_sums(sums[best], ellipses[row], weights[row])
            _mean_of_sums(sums[best], means[best])
    return groups


@kernel
def _find_best(similar: FloatArray, alive: NDArray[np.bool_], row: int) -> int:
    """Return the row most similar to a row, the first of several; the row itself if no other is left."""
    best = row
    for other in range(len(similar)):
        if alive[other] and other != row and (best == row or similar[row, other] > similar[row, best]):
            best = other
    return best


@kernel
def _link(similar: FloatArray, least: float) -> IntArray:
    """Group of each row by average linkage above a least similarity; rows or groups at -1 are never joined."""
    n = len(similar)
    groups, size, alive = np.arange(n), np.ones(n), np.ones(n, np.bool_)
    best = np.empty(n, np.int64)
    for row in range(n):
        best[row] = _find_best(similar, alive, row)
    while True:
        one = -1
        for row in range(n):
            if not alive[row] or best[row] == row or similar[row, best[row]] <= least:
                continue
            if one < 0 or similar[row, best[row]] > similar[one, best[one]]:
                one = row
        if one < 0:
            return groups
        other = best[one]
        alive[other] = False
        for row in range(n):
            if groups[row] == other:
                groups[row] = one
            if not alive[row] or row == one:
                continue
            mean = (size[one] * similar[one, row] + size[other] * similar[other, row]) / (
                size[one] + size[other]
            )
            if similar[one, row] < 0.0 or similar[other, row] < 0.0:
                mean = -1.0
            similar[one, row] = similar[row, one] = mean
        size[one] += size[other]
        best[one] = _find_best(similar, alive, one)
        for row in range(n):
            if alive[row] and (best[row] == one or best[row] == other):
                best[row] = _find_best(similar, alive, row)


@kernel
def link_parts(
    rows: IntArray,
    starts: IntArray,
    first: IntArray,
    second: IntArray,
    iou: FloatArray,
    pair_starts: IntArray,
    readers: IntArray,
    least_iou: float,
) -> IntArray:
    """Group of each row by average linkage within parts.

    Part p has the rows rows[starts[p]] to rows[starts[p + 1] - 1] and the pairs pair_starts[p] to
    pair_starts[p + 1] - 1. Rows of one reader are never in one group.
    """
    groups, place = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    found = 0
    for part in range(len(starts) - 1):
        low, n = starts[part], starts[part + 1] - starts[part]
        similar = np.zeros((n, n))
        for i in range(n):
            place[rows[low + i]] = i
            for j in range(n):
                if readers[rows[low + i]] == readers[rows[low + j]]:
                    similar[i, j] = -1.0
        for pair in range(pair_starts[part], pair_starts[part + 1]):
            i, j = place[first[pair]], place[second[pair]]
            similar[i, j] = similar[j, i] = iou[pair]
        linked = _link(similar, least_iou)
        number = np.full(n, -1, np.int64)
        for i in range(n):
            if number[linked[i]] < 0:
                number[linked[i]] = found
                found += 1
            groups[rows[low + i]] = number[linked[i]]
    return groups


@kernel
def match_pairs(first: IntArray, second: IntArray, n_first: int, n_second: int) -> NDArray[np.bool_]:
    """Whether each pair is a match: greedily, the first remaining pair whose two rows are free."""
    kept = np.zeros(len(first), np.bool_)
    free, other_free = np.ones(n_first, np.bool_), np.ones(n_second, np.bool_)
    for pair in range(len(first)):
        if free[first[pair]] and other_free[second[pair]]:
            kept[pair] = True
            free[first[pair]] = other_free[second[pair]] = False
    return kept
