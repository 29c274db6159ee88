"""The ellipse that stands for an object: one of its marks, as in the paper, or the mean of all; and how they spread.

The mean of ellipses has the mean centre and the mean matrix R(t) diag(a, b) R(t)^T, the square root of the matrix of
second moments up to a factor (the root Euclidean mean of Dryden, Koloydenko and Zhou, 2009). It turns, shifts and
scales with the marks, and for ellipses along the axes it is the ellipse in the mean of their boxes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from overread.marks import ellipses_of_matrices, equal_area_diameters, overlap_areas
from overread.truth._mark_arrays import MarkArrays
from overread.truth._pairs import mark_sizes

if TYPE_CHECKING:
    from overread.truth._options import MergeOptions

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def representatives(marks: MarkArrays, groups: IntArray, options: MergeOptions) -> IntArray:
    """Row of the mark that represents each group: the lower median by size; of two, as the options say."""
    sizes = mark_sizes(marks.ellipses, options)
    order = np.lexsort((np.arange(len(marks)), sizes, groups))
    counts = np.bincount(groups)
    starts = np.cumsum(counts) - counts
    place = starts + (counts - 1) // 2
    if options.pair_representative == "larger":
        place[counts == 2] += 1
    elif options.pair_representative == "random":
        for group in np.flatnonzero(counts == 2):
            first, second = order[starts[group]], order[starts[group] + 1]
            ids = sorted([marks.mark_ids[first], marks.mark_ids[second]])
            drawn = ids[digest(options.seed, marks.image_ids[marks.image[first]], ids)[0] & 1]
            place[group] += int(marks.mark_ids[second] == drawn)
    return np.asarray(order[place])


def mean_ellipses(ellipses: FloatArray, groups: IntArray, weights: FloatArray) -> FloatArray:
    """Weighted mean ellipse of each group; that of a single mark is the mark itself."""
    counts, total = np.bincount(groups), np.bincount(groups, weights)
    x, y, a, b, angle = ellipses.T
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    parts = (x, y, a * c * c + b * s * s, (a - b) * c * s, a * s * s + b * c * c)
    x, y, xx, xy, yy = (np.bincount(groups, weights * part) / total for part in parts)
    matrices = np.stack([np.stack([xx, xy], axis=1), np.stack([xy, yy], axis=1)], axis=1)
    means = ellipses_of_matrices(np.column_stack([x, y]), matrices)
    alone = counts[groups] == 1
    means[groups[alone]] = ellipses[alone]
    return means


def outline_spread(
    ellipses: FloatArray, groups: IntArray, outlines: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean IoU of each group's marks with its outline, and the spread of their centres.

    The spread is the root mean square distance of the marks' centres from that of the outline, over the outline's
    equal-area diameter 2 sqrt(a b).
    """
    own = outlines[groups]
    shared = overlap_areas(ellipses, own)
    areas = np.pi * (ellipses[:, 2] * ellipses[:, 3] + own[:, 2] * own[:, 3])
    counts = np.bincount(groups)
    squares = ((ellipses[:, :2] - own[:, :2]) ** 2).sum(axis=1)
    distance = np.sqrt(np.bincount(groups, squares) / counts) / equal_area_diameters(outlines)
    return np.bincount(groups, shared / (areas - shared)) / counts, distance


def digest(seed: int, image_id: str, mark_ids: Sequence[str]) -> bytes:
    """Eight bytes that look random and depend on the seed, the image and the marks only."""
    # lengths keep ["a", "bc"] and ["ab", "c"] apart
    text = "".join([f"{len(part)}:{part}" for part in (str(seed), image_id, *mark_ids)])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
