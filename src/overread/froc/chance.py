"""How often candidates hit by luck: the chance level of a hit rule.

A generous rule and many candidates reach GTs that they know nothing of. Here every image gets the
candidates, with their scores, of another image of the study. The number of candidates, their places in the
chest, their scores and hence the number shown per image stay as they are; only the tie between candidate and
GT is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.froc.counting import Counting
from overread.froc.curve import performance_at
from overread.froc.defaults import CHANCE_SHIFTS, FP_TARGETS
from overread.froc.inputs import candidate_scores, check_image_ids, image_codes
from overread.froc.matching import Matching, match
from overread.froc.operating import operating_points
from overread.one_line import print_as_one_line
from overread.progress import count_steps

__all__ = ["ChanceLevel", "chance_level"]


@print_as_one_line("reached", "chance_reached", "n_shifts", "exact", "points")
@dataclass(frozen=True, slots=True, eq=False)
class ChanceLevel:
    """Sensitivities beside those of candidates that were moved to other images.

    Attributes
    ----------
    points
        fp_target, threshold, gt_sensitivity, image_sensitivity, chance_gt_sensitivity,
        chance_image_sensitivity: the moved candidates are judged at the same thresholds.
    reached, chance_reached
        Share of targets that any candidate, and any moved candidate, hits.
    n_shifts, exact
        Number of ways the images were paired; exact when every GT met the candidates of every other image.
    """

    points: pd.DataFrame
    reached: float
    chance_reached: float
    n_shifts: int
    exact: bool


def chance_level(
    candidates: pd.DataFrame,
    truth: pd.DataFrame,
    images: pd.DataFrame,
    *,
    scores: str | ArrayLike | pd.DataFrame = "score",
    counting: Counting | None = None,
    fp_targets: ArrayLike = FP_TARGETS,
    n_shifts: int | None = CHANCE_SHIFTS,
    seed: int = 0,
) -> ChanceLevel:
    """Compute the expected sensitivity of the same candidates on other images.

    Images are put into a seeded random order; shift s gives image i the candidates of image i + s. The n - 1
    shifts of n images pair every two images once, so their mean is the exact expectation; fewer shifts,
    drawn without replacement, estimate it without bias. Coordinates are taken as they are, so the images
    should show the same region in about the same frame.

    Parameters
    ----------
    candidates, truth, images, scores, counting
        As for :func:`~overread.froc.match`.
    fp_targets
        FP per image of the real candidates, which fix the thresholds.
    n_shifts
        Number of shifts; None or more than n - 1: all of them.
    seed
        Of the order and of the choice of shifts.
    """
    image_ids = check_image_ids(images)
    if len(image_ids) < 2:
        raise InvalidInputError("chance_level: needs at least two images")
    values = candidate_scores(scores, candidates)
    real = match(candidates, truth, images, scores=values, counting=counting)
    points = operating_points(real, fp_targets=fp_targets).drop(columns="set")
    codes = image_codes("candidates", candidates, pd.Index(image_ids))

    generator = np.random.default_rng(seed)
    order = generator.permutation(len(image_ids))
    place = np.argsort(order)
    all_shifts = np.arange(1, len(image_ids))
    exact = n_shifts is None or n_shifts >= len(all_shifts)
    shifts = all_shifts if exact else generator.choice(all_shifts, size=n_shifts, replace=False)

    found = np.zeros((len(points), 2))
    reached = 0.0
    for shift in count_steps("shifts of the candidates", shifts):
        hosts = image_ids[order[(place[codes] - shift) % len(order)]]
        moved = match(candidates.assign(image_id=hosts), truth, images, scores=values, counting=counting)
        found += _sensitivities(moved, points["threshold"])
        reached += _reached_share(moved)
    found /= len(shifts)
    return ChanceLevel(
        points=points[["fp_target", "threshold", "gt_sensitivity", "image_sensitivity"]].assign(
            chance_gt_sensitivity=found[:, 0], chance_image_sensitivity=found[:, 1]
        ),
        reached=_reached_share(real),
        chance_reached=reached / len(shifts),
        n_shifts=len(shifts),
        exact=exact,
    )


def _sensitivities(matching: Matching, thresholds: ArrayLike) -> NDArray[np.float64]:
    """GT and image sensitivity at each threshold."""
    return performance_at(matching, thresholds)[["gt_sensitivity", "image_sensitivity"]].to_numpy()


def _reached_share(matching: Matching) -> float:
    """Share of targets that some candidate hits; NaN without targets."""
    return float(matching.gt_reached.mean()) if matching.n_gts else float("nan")
