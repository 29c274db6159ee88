"""What a person wants to know first: how good, against the readers, good for what, and what next.

The readers here are these readers, not a sample of others: intervals are those of other patients. A reader found
*clearly* more than the detector where the interval of the difference, at as many false marks as this reader made, lies
wholly on the reader's side of 0; it is not widened for the number of readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from overread.froc import StudySize
from overread.froc.merit.verdict import choose_better
from overread.report.results import Comparison, Counted, Verdict

__all__ = ["WANTED_HALF_WIDTH", "WIDEST_HALF_WIDTH", "reach_verdict"]

# An interval of 30 points says little about a detector; below so many objects even its width is not known.
WIDEST_HALF_WIDTH = 0.15
FEWEST_OBJECTS = 30
# How far below the median reader a detector that keeps up may be, in points of sensitivity. No standard says it; chosen
# as the smallest that so few objects can show: where two find the same of 30, they differ in at most 3 / 30 = 10 % of
# all (the rule of three; Hanley and Lippman-Hand 1983, JAMA 249:1743).
MARGIN = 0.10
# One reader may be an exception, for better or worse; of two, the better is no outlier on the low side.
FEWEST_READERS = 2
# The precision that the page's advice is about.
WANTED_HALF_WIDTH = 0.05


def reach_verdict(
    name: str,
    counted: Counted,
    readers: pd.DataFrame,
    comparisons: Sequence[Comparison],
    fp_target: float,
    needed: StudySize | None,
) -> Verdict:
    """Judge the supported model at its locked operating point.

    Parameters
    ----------
    name, counted
        The model that the detector is, and what was measured of it in unseen patients under the study's own treatment
        of single-reader GTs.
    readers
        Each reader and the detector, judged by the same objects (`judge_readers`).
    comparisons
        Of all pairs of models.
    fp_target
        Of the operating point.
    needed
        Test set that has an interval of `WANTED_HALF_WIDTH` to each side (`overread plan`); None without GTs.
    """
    at: Any = counted.locked[
        (counted.locked["source"] == "out_of_fold") & (counted.locked["fp_target"] == fp_target)
    ].set_index("measure")
    sensitivity, lower, upper = (
        float(at.loc["gt_sensitivity", end]) for end in ("estimate", "lower", "upper")
    )
    judged = readers[readers["n_gts"] >= FEWEST_OBJECTS].sort_values("difference", kind="stable")
    median = judged.iloc[(len(judged) - 1) // 2] if len(judged) else None
    n_better = int((judged["upper"] < 0).sum())
    return Verdict(
        model=name,
        fp_target=fp_target,
        sensitivity=sensitivity,
        lower=lower,
        upper=upper,
        fp_per_image=float(at.loc["fp_per_image", "estimate"]),
        chance=find_chance(counted, fp_target),
        n_readers=len(judged),
        fewest_objects=FEWEST_OBJECTS,
        n_better=n_better,
        n_worse=int((judged["lower"] > 0).sum()),
        median_reader=None if median is None else str(median["reader_id"]),
        margin=MARGIN,
        grade=_grade_alone(counted, lower, upper, fp_target)
        or _grade_beside_readers(median, len(judged), n_better),
        wanted_half_width=WANTED_HALF_WIDTH,
        objects_needed=0 if needed is None else needed.gts,
        images_needed=0 if needed is None else needed.images,
        better_on_test=find_better(name, comparisons, counted.single_reader),
    )


def find_chance(counted: Counted, fp_target: float) -> float:
    """Sensitivity of candidates moved to other images at the target; NaN where it was not computed."""
    if counted.chance is None:
        return float("nan")
    points = counted.chance.points
    return float(points.loc[points["fp_target"] == fp_target, "chance_gt_sensitivity"].iloc[0])


def find_better(name: str, comparisons: Sequence[Comparison], single_reader: str) -> str | None:
    """Name a model that the comparisons on the test set call better than this one, in the words of the page."""
    for pair in comparisons:
        if pair.single_reader != single_reader or name not in (pair.first, pair.second) or not pair.figures:
            continue
        better = choose_better(pair.figures[-1])
        if better is not None and (winner := pair.first if better == "first" else pair.second) != name:
            return winner
    return None


def _grade_alone(counted: Counted, lower: float, upper: float, fp_target: float) -> str | None:
    """Say in words what is wrong with the detector's own figures; None where nothing is."""
    if counted.test.n_gts < FEWEST_OBJECTS or not (upper - lower) / 2 <= WIDEST_HALF_WIDTH:
        return "too small"
    return "chance" if lower <= find_chance(counted, fp_target) else None


def _grade_beside_readers(median: pd.Series | None, n_readers: int, n_better: int) -> str:
    """Compare the detector with the median reader."""
    if median is not None and (median["upper"] < 0 or 2 * n_better > n_readers):
        return "below readers"
    if median is None or n_readers < FEWEST_READERS:
        return "too few readers"
    return "among readers" if median["lower"] >= -MARGIN else "undecided"
