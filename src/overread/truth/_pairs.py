"""Which marks overlap, by how much, and which of them hit each other: step 1 of the paper's merging (section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.marks import equal_area_diameters, overlap_areas
from overread.truth._hits import pairs_within_reach
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


NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


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
    area = np.pi * ellipses[first, 2] * ellipses[first, 3]
    other_area = np.pi * others[second, 2] * others[second, 3]
    pairs = Pairs(first, second, shared / np.maximum(area, other_area), shared / (area + other_area - shared))
    return pairs.where(shared > 0.0)


def hitting_pairs(pairs: Pairs, ellipses: FloatArray, others: FloatArray, options: MergeOptions) -> Pairs:
    """Pairs with S_ij / max(S_i, S_j) > T, whoever drew them."""
    return pairs.where(pairs.share > thresholds(ellipses[pairs.first], others[pairs.second], options))


def thresholds(first: FloatArray, second: FloatArray, options: MergeOptions) -> FloatArray:
    """Threshold T of each pair.

    T = min(T0, T0 / 20 max(D_i, D_j)) for a pair that is similar in size and position, else
    T = min(T0, T0 / 20 min(D_i, D_j)); sizes D in mm, or `MergeOptions.full_size` in place of 20.
    Without a full size, which rules other than the paper's do not need, T = T0.
    """
    if options.threshold == "fixed" or options.full_size is None:
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
