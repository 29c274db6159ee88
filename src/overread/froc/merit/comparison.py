"""AFROC figures of one model with an interval, and of two models on the same cases with a paired test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overread.errors import InvalidInputError
from overread.froc.bootstraps import patient_counts, patients_of_measures
from overread.froc.comparison import FrocPlaces, check_same_cases
from overread.froc.defaults import LEVEL, N_BOOTSTRAP
from overread.froc.intervals import ROUNDING, score_interval, standard_interval
from overread.froc.matching import Matching
from overread.froc.merit.figures_of_merit import (
    CaseRatings,
    FigureOfMerit,
    figure_of_merit,
    resample_figures,
)
from overread.one_line import print_as_one_line

__all__ = [
    "FigureComparison",
    "FigureEstimate",
    "case_ratings",
    "compare_figures",
    "estimate_figures",
    "mixture",
    "place_ratings",
    "whole_curve_figures",
]

FloatArray = NDArray[np.float64]


@print_as_one_line()
@dataclass(frozen=True, slots=True)
class FigureEstimate:
    """One figure of merit with its interval over resampled patients; NaN where one patient has all targets."""

    figure: FigureOfMerit
    estimate: float
    lower: float
    upper: float
    level: float


@print_as_one_line()
@dataclass(frozen=True, slots=True)
class FigureComparison:
    """Second model minus first; interval and ``p_bootstrap`` from the paired bootstrap's standard deviation."""

    figure: FigureOfMerit
    first: float
    second: float
    difference: float
    lower: float
    upper: float
    level: float
    p_bootstrap: float
    p_permutation: float


def case_ratings(matching: Matching) -> CaseRatings:
    """Reduce a matching to the highest false positive of each image and the rating of each target."""
    highest = np.full(matching.n_images, -np.inf)
    np.maximum.at(highest, matching.fp_images, matching.fp_scores)
    return CaseRatings(highest, matching.gt_images, matching.gt_scores)


def whole_curve_figures(matching: Matching) -> tuple[FigureOfMerit, FigureOfMerit]:
    """Figures of merit that the images allow: without lesion-free images only those over all cases."""
    every_image_has_one = len(np.unique(matching.gt_images)) == matching.n_images
    return ("AFROC1", "wAFROC1") if every_image_has_one else ("AFROC", "wAFROC")


def estimate_figures(
    matching: Matching,
    figures: Sequence[FigureOfMerit] = ("AFROC", "wAFROC"),
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> tuple[FigureEstimate, ...]:
    """Estimate figures of merit, each with an interval from resampled patients.

    The interval is that of sensitivities (:func:`~overread.froc.score_interval`): a figure is a mean of shares,
    too. A replicate without lesions or without the cases that give false positives is left out. Fewer than two
    patients with a target show nothing of how lesions vary: the interval is NaN.
    """
    ratings = case_ratings(matching)
    n_units = patients_of_measures(matching)["gt_sensitivity"]
    results = []
    for figure in figures:
        estimate = figure_of_merit(ratings, figure)
        replicates = replicate_figure(matching, ratings, figure, n_bootstrap, seed)[:, None]
        lower, upper = score_interval(np.array([estimate]), replicates, n_units if n_units > 1 else 0, level)
        results.append(FigureEstimate(figure, estimate, float(lower[0]), float(upper[0]), level))
    return tuple(results)


def compare_figures(
    first: Matching,
    second: Matching,
    figures: Sequence[FigureOfMerit] = ("AFROC", "wAFROC"),
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    n_permutations: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> tuple[FigureComparison, ...]:
    """Compare two models' figures of merit on the same images and targets.

    Bootstrap and permutation are those of :func:`overread.froc.compare`: both models see the same
    patients, and the permutation swaps the models in a random half of them, after each score was replaced
    by its place on its own model's FROC curve.
    """
    check_same_cases(first, second)
    pair = case_ratings(first), case_ratings(second)
    n_units = patients_of_measures(first)["gt_sensitivity"]
    results = []
    for figure in figures:
        one, two = (figure_of_merit(ratings, figure) for ratings in pair)
        replicates = [replicate_figure(first, ratings, figure, n_bootstrap, seed) for ratings in pair]
        differences = (replicates[1] - replicates[0])[:, None]
        interval = standard_interval(np.array([two - one]), differences, n_units, level)
        results.append(
            FigureComparison(
                figure=figure,
                first=one,
                second=two,
                difference=two - one,
                lower=float(interval.lower[0]),
                upper=float(interval.upper[0]),
                level=level,
                p_bootstrap=float(interval.p_value[0]),
                p_permutation=permutation_p_value(first, second, figure, n_permutations, seed),
            )
        )
    return tuple(results)


def replicate_figure(
    matching: Matching, ratings: CaseRatings, figure: FigureOfMerit, n_bootstrap: int, seed: int
) -> FloatArray:
    """Figures of resampled patients; NaN where a replicate has no denominator."""
    blocks = [
        resample_figures(ratings, figure, counts[:, matching.patients])
        for counts in patient_counts(matching.n_patients, n_bootstrap, seed)
    ]
    return np.concatenate(blocks)


def permutation_p_value(
    first: Matching, second: Matching, figure: FigureOfMerit, n_permutations: int, seed: int
) -> float:
    """Share of swappings of the models in random patients that differ as much as the data, data included.

    The figure of a model does not change by placing its scores: places keep their order and their ties.
    """
    if n_permutations < 1:
        raise InvalidInputError(f"n_permutations={n_permutations}: need at least 1")
    one, two = place_ratings(first), place_ratings(second)
    observed = abs(figure_of_merit(two, figure) - figure_of_merit(one, figure))
    generator = np.random.default_rng(seed)
    as_far = 1
    for _ in range(n_permutations):
        swap = generator.integers(0, 2, size=first.n_patients).astype(bool)[first.patients]
        difference = figure_of_merit(mixture(two, one, swap), figure) - figure_of_merit(
            mixture(one, two, swap), figure
        )
        as_far += abs(difference) >= observed - ROUNDING
    return as_far / (n_permutations + 1)


def place_ratings(matching: Matching) -> CaseRatings:
    """Ratings on the scale of the model's own FROC curve: minus the place of each event."""
    places = FrocPlaces.of(matching, None)
    highest = np.full(matching.n_images, -np.inf)
    np.maximum.at(highest, places.fp_images, -places.fps)
    return CaseRatings(highest, matching.gt_images, -places.gts)


def mixture(kept: CaseRatings, other: CaseRatings, swap: NDArray[np.bool_]) -> CaseRatings:
    """Ratings with those of the other model in the swapped cases."""
    return replace(
        kept,
        highest_fp=np.where(swap, other.highest_fp, kept.highest_fp),
        lesion_rating=np.where(swap[kept.lesion_case], other.lesion_rating, kept.lesion_rating),
    )
