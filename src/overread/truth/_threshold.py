"""The threshold of a grouping rule, judged by held-out readers.

Each reader in turn is left out, the marks of the others are merged, and their objects are matched with the reader's
marks one to one, by falling IoU. Both errors count: with a strict threshold, one lesion becomes several objects, and
the second has no mark to match; with a lax one, two lesions become one object, and one of the reader's marks has no
object. A reader without a mark near an object gives no information on its merging, so only touching objects and marks
count: one contains the other's centre. The agreement is the panoptic quality of Kirillov et al. (2019),

    Q = 2 sum(IoU of the matches) / (touching objects + touched marks),

with matches of an IoU above 0.5. This slightly favours a lax threshold, because two merged lesions cost nothing if the
reader marked only one of them. The threshold chosen is therefore the strictest one whose agreement is within a standard
error of the best.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.tables import LengthUnit, plain
from overread.truth._grouping import find_rule
from overread.truth._kernels import match_pairs
from overread.truth._mark_arrays import MarkArrays, Pairs, overlapping_pairs
from overread.truth._merging import codes_of_groups, find_pairs, group_marks, nested_pairs
from overread.truth._options import MergeOptions
from overread.truth._readers import FEWEST_READINGS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
MATCHING_IOU = 0.5
# More marks or readers change the curve by less than its standard errors, and take longer than merging.
MOST_MARKS, MOST_READERS = 10_000, 8


@dataclass(frozen=True)
class ThresholdCurve:
    """Agreement of held-out readers with the merged objects of the others, by threshold.

    Attributes
    ----------
    option
        Name of the option, such as ``t0``.
    table
        threshold; objects_per_image; unchanged, the share of objects with the same marks at the next threshold;
        agreement, the mean panoptic quality; shortfall and its standard error, against the best threshold, over images.
    used
        Threshold in the options.
    chosen
        The strictest threshold whose agreement is within a standard error of the best.
    """

    option: str
    table: pd.DataFrame
    used: float
    chosen: float

    def shortfall(self) -> tuple[float, float]:
        """Loss of agreement of the used threshold against the best, and its standard error."""
        row = self.table[self.table["threshold"] == self.used]
        return float(row["shortfall"].iloc[0]), float(row["standard_error"].iloc[0])


def threshold_curve(
    marks: pd.DataFrame,
    readings: pd.DataFrame,
    *,
    options: MergeOptions | None = None,
    unit: LengthUnit | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
) -> ThresholdCurve | None:
    """Judge thresholds of a grouping rule by held-out readers, without a gold standard.

    Parameters
    ----------
    marks, readings
        Tables as for `merge_marks`. At most 10,000 marks are used, from images in a seeded random order, and at most 8
        readers, those with the most marks, are held out in turn.
    options
        Options for merging; their threshold is judged too.
    unit
        Unit of lengths with plain names; None: their names end in it.
    thresholds
        Thresholds to judge.

    Returns
    -------
    ThresholdCurve or None
        None if the rule has no threshold, or no image has three readings: two to merge and one to judge.
    """
    marks, unit = plain(marks, unit, "marks")
    options = (options or MergeOptions()).in_unit(unit)
    option = find_rule(options.method).threshold
    judged = _judged_images(marks, readings, options.seed)
    if option is None or not marks["image_id"].isin(judged).any():
        return None
    used = float(getattr(options, option))
    arrays = MarkArrays.from_table(marks[marks["image_id"].isin(judged)], options)
    pairs = find_pairs(arrays, options)
    steps = sorted({*map(float, thresholds), used})
    changed: list[dict[str, Any]] = [{option: step} for step in steps]
    each = [replace(options, **change) for change in changed]
    quality, spread = _agreement(arrays, pairs, readings, each)
    best = int(np.argmax(quality))
    error = np.sqrt(((spread - spread[best]) ** 2).sum(axis=1))
    groups = [group_marks(arrays, one, pairs)[0] for one in each]
    table = pd.DataFrame(
        {
            "threshold": steps,
            "objects_per_image": [(one.max() + 1) / len(judged) for one in groups],
            "unchanged": [*(_unchanged_share(*two) for two in pairwise(groups)), np.nan],
            "agreement": quality,
            "shortfall": quality[best] - quality,
            "standard_error": error,
        }
    )
    good = np.flatnonzero(quality[best] - quality <= error)
    return ThresholdCurve(option, table, used, steps[good.max()])


def _judged_images(marks: pd.DataFrame, readings: pd.DataFrame, seed: int) -> list[str]:
    """Images with enough readings, in a random order, until they have enough marks."""
    counts = readings.groupby("image_id").size()
    enough = sorted(counts.index[counts >= FEWEST_READINGS])
    n_marks = marks["image_id"].value_counts().reindex(enough, fill_value=0).to_numpy()
    order = np.random.default_rng(seed).permutation(len(enough))
    before = np.cumsum(n_marks[order]) - n_marks[order]
    return [enough[place] for place in order[before < MOST_MARKS]]


def _agreement(
    arrays: MarkArrays, pairs: Pairs, readings: pd.DataFrame, options: Sequence[MergeOptions]
) -> tuple[FloatArray, FloatArray]:
    """Agreement of each of the options, and each image's contribution to its error, one row per options."""
    n_images = len(arrays.image_ids)
    matched, counted = np.zeros((len(options), n_images)), np.zeros((len(options), n_images))
    for own, others in _held_out(arrays, readings):
        found = pairs.among(others, len(arrays))
        marks, rest = arrays.take(own), arrays.take(others)
        touched = np.unique(nested_pairs(marks.group, marks.ellipses, rest.group, rest.ellipses)[0])
        for row, one in enumerate(options):
            groups, outlines = group_marks(rest, one, found)
            codes, image = codes_of_groups(rest, groups), np.empty(len(outlines), np.int64)
            image[groups] = rest.image
            touching = np.unique(nested_pairs(codes, outlines, marks.group, marks.ellipses)[0])
            close = overlapping_pairs(codes, outlines, marks.group, marks.ellipses)
            close = close.where(close.iou > MATCHING_IOU)
            order = np.lexsort((close.second, close.first, -close.iou))
            kept = order[match_pairs(close.first[order], close.second[order], len(outlines), len(marks))]
            matched[row] += np.bincount(image[close.first[kept]], close.iou[kept], n_images)
            counted[row] += np.bincount(image[touching], minlength=n_images)
            counted[row] += np.bincount(marks.image[touched], minlength=n_images)
    total = np.maximum(counted.sum(axis=1), 1.0)
    quality = 2.0 * matched.sum(axis=1) / total
    return quality, (2.0 * matched - quality[:, None] * counted) / total[:, None]


def _held_out(arrays: MarkArrays, readings: pd.DataFrame) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows of a reader's marks, and of the others' marks in the images that the reader read; reader by reader."""
    n_marks = np.bincount(arrays.reader, minlength=len(arrays.reader_ids))
    for reader in np.argsort(-n_marks, kind="stable")[:MOST_READERS]:
        read = readings.loc[readings["reader_id"] == arrays.reader_ids[reader], "image_id"]
        seen = np.isin(arrays.image_ids, read.to_numpy(object))[arrays.image]
        is_own = arrays.reader == reader
        yield np.flatnonzero(is_own), np.flatnonzero(~is_own & seen)


def _unchanged_share(groups: IntArray, others: IntArray) -> float:
    """Share of the groups that have the same rows in another grouping."""
    sizes, other_sizes = np.bincount(groups), np.bincount(others)
    both = np.unique(np.column_stack([groups, others]), axis=0)
    parts = np.bincount(both[:, 0])
    return float(np.mean((parts[both[:, 0]] == 1) & (sizes[both[:, 0]] == other_sizes[both[:, 1]])))
