"""What a person wants to know first: how good, against the readers, good for what, and what next."""

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
    judged = readers.sort_values("sensitivity", kind="stable")
    return Verdict(
        model=name,
        fp_target=fp_target,
        sensitivity=sensitivity,
        lower=lower,
        upper=upper,
        fp_per_image=float(at.loc["fp_per_image", "estimate"]),
        chance=find_chance(counted, fp_target),
        reader_sensitivities=judged["sensitivity"].tolist(),
        reader_fp_per_image=judged["fp_per_image"].tolist(),
        beside_readers=judged["detector_sensitivity"].tolist(),
        grade=_grade(counted, lower, upper, fp_target, judged),
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


def _grade(
    counted: Counted,
    lower: float,
    upper: float,
    fp_target: float,
    judged: pd.DataFrame,
) -> str:
    """Say in a word what the test set allows; beside a reader, half of its interval is granted to the detector."""
    half_width = (upper - lower) / 2
    if counted.test.n_gts < FEWEST_OBJECTS or not half_width <= WIDEST_HALF_WIDTH:
        return "too small"
    if lower <= find_chance(counted, fp_target):
        return "chance"
    if judged.empty:
        return "no readers"
    keeps_up = judged["detector_sensitivity"] + half_width >= judged["sensitivity"]
    return "among readers" if keeps_up.any() else "below readers"
