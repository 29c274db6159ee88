"""Compiled parts of `overread.truth`: pairs that lie near each other, star groups, running averages."""

from __future__ import annotations

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
    rows are visited by rising x, from the first to the last that a row can reach: not all of them.
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
                far += 1e-9 * (abs(x) + far)  # rounding must not lose a pair that touches
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
    """Group of each row: rows in `order` seed a group with their neighbours that have none yet."""
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
    """Add an ellipse to running sums of weight, centre and second moments (4 Cov: xx, xy, yy)."""
    c, s = math.cos(math.radians(ellipse[4])), math.sin(math.radians(ellipse[4]))
    major, minor = ellipse[2] * ellipse[2], ellipse[3] * ellipse[3]
    sums[0] += weight
    sums[1] += weight * ellipse[0]
    sums[2] += weight * ellipse[1]
    sums[3] += weight * (major * c * c + minor * s * s)
    sums[4] += weight * (major - minor) * c * s
    sums[5] += weight * (major * s * s + minor * c * c)


@kernel
def _average_of_sums(sums: FloatArray, ellipse: FloatArray) -> None:
    """Write the ellipse with the mean centre and the mean second moments of running sums."""
    ellipse[0], ellipse[1] = sums[1] / sums[0], sums[2] / sums[0]
    xx, xy, yy = sums[3] / sums[0], sums[4] / sums[0], sums[5] / sums[0]
    spread = math.hypot(xx - yy, 2.0 * xy)
    major = 0.5 * (xx + yy + spread)
    ellipse[2], ellipse[3] = math.sqrt(major), math.sqrt(max((xx * yy - xy * xy) / major, 0.0))
    ellipse[4] = math.degrees(0.5 * math.atan2(2.0 * xy, xx - yy)) % 180.0


@kernel
def fuse_groups(
    starts: IntArray,
    ellipses: FloatArray,
    readers: IntArray,
    weights: FloatArray,
    least_iou: float,
) -> tuple[IntArray, FloatArray]:
    """Group of each row and each group's average; rows come sorted by image, then in the order of joining.

    A reader joins a group once; equal codes below 0 do not count as one reader.
    """
    n = len(ellipses)
    groups, sums, averages = np.full(n, -1, np.int64), np.zeros((n, 6)), np.zeros((n, 5))
    found = 0
    for image in range(len(starts) - 1):
        first = found
        for row in range(starts[image], starts[image + 1]):
            best, best_iou = -1, least_iou
            for group in range(first, found):
                taken = False
                for other in range(starts[image], row):
                    if groups[other] == group and readers[other] == readers[row] >= 0:
                        taken = True
                if taken:
                    continue
                shared = overlap_one(ellipses[row], averages[group])
                areas = ellipses[row, 2] * ellipses[row, 3] + averages[group, 2] * averages[group, 3]
                iou = shared / (math.pi * areas - shared)
                if iou > best_iou:
                    best, best_iou = group, iou
            if best < 0:
                best = found
                found += 1
            groups[row] = best
            _add_to_sums(sums[best], ellipses[row], weights[row])
            _average_of_sums(sums[best], averages[best])
    return groups, averages[:found]
