"""Whole-curve figures of merit of free-response data: AFROC, wAFROC and their "1" variants.

Conventions: K cases (images). ``f_k`` is the highest false-positive rating of case k, ``-inf`` where it has
none. ``y_l`` is the rating of lesion l, ``-inf`` where it is unmarked. psi(f, y) = 1 if f < y, 1/2 if f = y,
else 0; a case without false positives and an unmarked lesion are equal, so they count 1/2. The figure is a
double mean::

    theta = sum_k sum_l v_l psi(f_k, y_l) / (n sum_l v_l)

============  ============================  =======================================
figure        cases k that give f_k         weight v_l of lesion l
============  ============================  =======================================
AFROC         the n cases without lesions   1
wAFROC        the n cases without lesions   w_l, summing to 1 within each case
AFROC1        all n = K cases               1
wAFROC1       all n = K cases               w_l, summing to 1 within each case
============  ============================  =======================================

As Chakraborty defines them (Observer Performance Methods for Diagnostic Imaging, CRC Press 2017; RJafroc).

A model is called better where both the interval of the difference leaves out 0 and the permutation test finds such a
difference rarer than 1 minus the level among models that are alike. The interval comes from the bootstrap's standard
error, which few lesions make uncertain; the test is exact, but tests whether the models are alike in every way. Where
just one of the two speaks for a difference, it is not taken as shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import (
    ROUNDING,
    patient_counts,
    patients_of_measures,
    score_interval,
    standard_interval,
)
from overread.froc._comparison import FrocPlaces, check_same_cases
from overread.froc._defaults import LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching

FigureOfMerit = Literal["AFROC", "wAFROC", "AFROC1", "wAFROC1"]
"""w: every case with lesions weighs the same. 1: false positives of all cases count, not of normal ones alone."""
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Weights that were written with six decimals still sum to 1.
WEIGHT_SUM_TOLERANCE = 1e-6


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class CaseRatings:
    """Ratings of one reader (or one model) for every case.

    Attributes
    ----------
    highest_fp : ndarray of float
        Highest false-positive rating of each case; ``-inf`` where there is none. Shape (n_cases,).
    lesion_case : ndarray of int
        Position of each lesion's case in ``highest_fp``. Shape (n_lesions,).
    lesion_rating : ndarray of float
        Highest rating that hits each lesion; ``-inf`` where it is unmarked. Shape (n_lesions,).
    lesion_weight : ndarray of float, optional
        Clinical weight of each lesion, summing to 1 within a case; None: 1 / (lesions of the case).
    """

    highest_fp: FloatArray
    lesion_case: IndexArray
    lesion_rating: FloatArray
    lesion_weight: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "highest_fp", _ratings_array(self.highest_fp, "highest_fp"))
        object.__setattr__(self, "lesion_rating", _ratings_array(self.lesion_rating, "lesion_rating"))
        object.__setattr__(self, "lesion_case", _case_positions(self.lesion_case, self.n_cases))
        if len(self.lesion_case) != len(self.lesion_rating):
            raise InvalidInputError(
                f"lesion_case has {len(self.lesion_case)} entries, lesion_rating {len(self.lesion_rating)}: "
                "give one of each for every lesion"
            )
        if self.lesion_weight is not None:
            object.__setattr__(self, "lesion_weight", self.check_weights(self.lesion_weight))

    @property
    def n_cases(self) -> int:
        """Number of cases, with and without lesions."""
        return len(self.highest_fp)

    @property
    def lesions_per_case(self) -> IndexArray:
        """Number of lesions of each case."""
        return np.bincount(self.lesion_case, minlength=self.n_cases).astype(np.intp)

    def weights(self) -> FloatArray:
        """w_l: the given weights, or 1 / (lesions of the case)."""
        if self.lesion_weight is not None:
            return self.lesion_weight
        return 1.0 / self.lesions_per_case[self.lesion_case]

    def check_weights(self, weights: ArrayLike) -> FloatArray:
        """Weights as floats, each at least 0 and summing to 1 within every case."""
        checked = np.asarray(weights, dtype=np.float64)
        if checked.shape != self.lesion_rating.shape or not np.all(checked >= 0):
            raise InvalidInputError("lesion_weight needs one weight of at least 0 for every lesion")
        sums = np.bincount(self.lesion_case, weights=checked, minlength=self.n_cases)
        wrong = np.flatnonzero((self.lesions_per_case > 0) & (np.abs(sums - 1) > WEIGHT_SUM_TOLERANCE))
        if len(wrong):
            raise InvalidInputError(
                f"the lesion weights of case {wrong[0]} sum to {sums[wrong[0]]:.6g}: "
                "they must sum to 1 in every case"
            )
        return checked


@short_repr("figure", "thresholds")
@dataclass(frozen=True, slots=True, eq=False)
class AfrocCurve:
    """The curve whose trapezoid area is the figure of merit.

    ``false_positive_fraction`` is the share of the false-positive cases with f_k >= threshold,
    ``lesion_fraction`` the weighted share of lesions with y_l >= threshold. The first point is (0, 0) at
    ``inf``; the last is (1, 1) at ``-inf``, joined by a straight line to the last point that was observed.
    """

    figure: FigureOfMerit
    false_positive_fraction: FloatArray
    lesion_fraction: FloatArray
    thresholds: FloatArray

    @property
    def area(self) -> float:
        """Trapezoid area under the curve; equals the figure of merit."""
        return float(np.trapezoid(self.lesion_fraction, self.false_positive_fraction))


def figure_of_merit(ratings: CaseRatings, figure: FigureOfMerit = "wAFROC") -> float:
    """Return theta of one reader or model."""
    _check_figure(figure)
    fp_count, weight = _fp_cases(ratings, figure).astype(float), _raw_weights(ratings, figure)
    n, total = fp_count.sum(), weight.sum()
    _check_denominators(n, total, figure)
    return float(weight @ _placements(ratings.highest_fp, fp_count, ratings.lesion_rating) / (n * total))


def resample_figures(ratings: CaseRatings, figure: FigureOfMerit, case_counts: ArrayLike) -> FloatArray:
    """Return theta of resampled cases, one for each row of counts."""
    counts = np.asarray(case_counts, dtype=np.float64)
    order = np.argsort(ratings.highest_fp, kind="stable")
    below = np.searchsorted(ratings.highest_fp[order], ratings.lesion_rating, side="left")
    up_to = np.searchsorted(ratings.highest_fp[order], ratings.lesion_rating, side="right")
    cumulative = np.zeros((len(counts), ratings.n_cases + 1))
    np.cumsum(counts[:, order] * _fp_cases(ratings, figure)[order], axis=1, out=cumulative[:, 1:])
    weight = counts[:, ratings.lesion_case] * _raw_weights(ratings, figure)
    beaten = 0.5 * np.sum(weight * (cumulative[:, below] + cumulative[:, up_to]), axis=1)
    denominator = cumulative[:, -1] * weight.sum(axis=1)
    return np.divide(beaten, denominator, out=np.full(len(counts), np.nan), where=denominator > 0)


def afroc_curve(ratings: CaseRatings, figure: FigureOfMerit = "wAFROC") -> AfrocCurve:
    """Return the curve of one reader or model; ties are one step, drawn as a straight line."""
    _check_figure(figure)
    fp = ratings.highest_fp[_fp_cases(ratings, figure)]
    weight = _raw_weights(ratings, figure)
    _check_denominators(len(fp), weight.sum(), figure)
    observed = np.concatenate([fp, ratings.lesion_rating])
    thresholds = np.unique(observed[np.isfinite(observed)])[::-1]
    curve_fp = _upper_share(fp, np.ones(len(fp)), thresholds)
    curve_lesions = _upper_share(ratings.lesion_rating, weight, thresholds)
    return AfrocCurve(
        figure=figure,
        false_positive_fraction=np.concatenate([[0.0], curve_fp, [1.0]]),
        lesion_fraction=np.concatenate([[0.0], curve_lesions, [1.0]]),
        thresholds=np.concatenate([[np.inf], thresholds, [-np.inf]]),
    )


def jackknife_figures(
    ratings: CaseRatings, figure: FigureOfMerit = "wAFROC", *, patients: ArrayLike | None = None
) -> FloatArray:
    """Return theta with each patient left out, in order of first appearance; None: each case is a patient.

    Closed form: with N = sum_k sum_l v_l psi(f_k, y_l), leaving out the cases of patient g gives
    ``(N - rows_g - columns_g + block_g) / ((n - n_g) (V - V_g))``, where rows are the f_k of g against all
    lesions, columns all f_k against the lesions of g, and the block, subtracted twice, is g against itself.
    """
    _check_figure(figure)
    group, n_groups = patient_groups(patients, ratings.n_cases)
    is_fp = _fp_cases(ratings, figure)
    fp_count, weight = is_fp.astype(float), _raw_weights(ratings, figure)
    column = weight * _placements(ratings.highest_fp, fp_count, ratings.lesion_rating)
    row = fp_count * (weight.sum() - _placements(ratings.lesion_rating, weight, ratings.highest_fp))
    lesion_group = group[ratings.lesion_case]
    n_left = is_fp.sum() - np.bincount(group, weights=fp_count, minlength=n_groups)
    weight_left = weight.sum() - np.bincount(lesion_group, weights=weight, minlength=n_groups)
    _check_denominators(n_left.min(initial=np.inf), weight_left.min(initial=np.inf), figure)
    kept = (
        column.sum()
        - np.bincount(group, weights=row, minlength=n_groups)
        - np.bincount(lesion_group, weights=column, minlength=n_groups)
        + _own_blocks(ratings, fp_count, weight, group, n_groups)
    )
    return kept / (n_left * weight_left)


def _own_blocks(
    ratings: CaseRatings, fp_count: FloatArray, weight: FloatArray, group: IndexArray, n_groups: int
) -> FloatArray:
    """Sum of v_l psi(f_k, y_l) over the pairs in which case k and lesion l belong to the same patient."""
    block = np.zeros(n_groups)
    by_group = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    for lesion, owner in enumerate(group[ratings.lesion_case]):
        cases = by_group[starts[owner] : starts[owner + 1]]
        highest, rating = ratings.highest_fp[cases], ratings.lesion_rating[lesion]
        block[owner] += weight[lesion] * (fp_count[cases] @ ((highest < rating) + 0.5 * (highest == rating)))
    return block


def _placements(reference: FloatArray, reference_weight: FloatArray, values: FloatArray) -> FloatArray:
    """sum_k u_k psi(reference_k, value) for every value, by one sort."""
    order = np.argsort(reference, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(reference_weight[order])])
    below = np.searchsorted(reference[order], values, side="left")
    up_to = np.searchsorted(reference[order], values, side="right")
    return 0.5 * (cumulative[below] + cumulative[up_to])


def _upper_share(values: FloatArray, weight: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Weighted share of the values at or above each threshold."""
    order = np.argsort(values, kind="stable")
    above = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    # Divided by the same running sum, so that the share of everything is exactly 1.
    return above[np.searchsorted(values[order], thresholds, side="left")] / above[0]


def _fp_cases(ratings: CaseRatings, figure: FigureOfMerit) -> NDArray[np.bool_]:
    """Cases whose highest false positive enters the figure."""
    if figure.endswith("1"):
        return np.ones(ratings.n_cases, dtype=bool)
    return ratings.lesions_per_case == 0


def _raw_weights(ratings: CaseRatings, figure: FigureOfMerit) -> FloatArray:
    """v_l: the lesion weights of the weighted figures, else 1."""
    return ratings.weights() if figure.startswith("w") else np.ones(len(ratings.lesion_rating))


def _ratings_array(values: ArrayLike, name: str) -> FloatArray:
    """Ratings as floats; NaN and +inf are refused, -inf means "none"."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} needs one dimension, not {array.ndim}")
    wrong = np.flatnonzero(np.isnan(array) | (array == np.inf))
    if len(wrong):
        raise InvalidInputError(
            f"{name}[{wrong[0]}] is {array[wrong[0]]}: ratings are finite, or -inf where nothing was marked"
        )
    return array


def _case_positions(values: ArrayLike, n_cases: int) -> IndexArray:
    """Positions of the lesions' cases, each within the cases."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim != 1:
        raise InvalidInputError("lesion_case needs whole numbers: the position of each lesion's case")
    if array.min() < 0 or array.max() >= n_cases:
        raise InvalidInputError(
            f"lesion_case holds {array.min()}..{array.max()}, but there are {n_cases} cases"
        )
    return array.astype(np.intp)


def patient_groups(patients: ArrayLike | None, n_cases: int) -> tuple[IndexArray, int]:
    """Position of each case's patient, in order of first appearance, and the number of patients."""
    if patients is None:
        return np.arange(n_cases), n_cases
    ids = np.asarray(patients)
    if ids.shape != (n_cases,):
        raise InvalidInputError(f"patients needs one id for each of the {n_cases} cases")
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], len(first)


def _check_figure(figure: str) -> None:
    """Refuse a figure of merit that does not exist."""
    if figure not in get_args(FigureOfMerit):
        raise InvalidInputError(
            f"unknown figure of merit {figure!r}: one of {', '.join(get_args(FigureOfMerit))}"
        )


def _check_denominators(n_fp_cases: float, lesion_total: float, figure: FigureOfMerit) -> None:
    """Refuse a figure without lesions or without the cases that give false positives."""
    if not lesion_total > 0:
        raise InvalidInputError(f"{figure} needs lesions, and there are none (left)")
    if not n_fp_cases > 0:
        whole = f"use {figure}1, which takes false positives from all cases"
        remedy = "add cases" if figure.endswith("1") else whole
        raise InvalidInputError(f"{figure} needs cases without lesions, and there are none (left): {remedy}")


@short_repr()
@dataclass(frozen=True, slots=True)
class FigureEstimate:
    """One figure of merit with its interval over resampled patients; NaN where one patient has all targets."""

    figure: FigureOfMerit
    estimate: float
    lower: float
    upper: float
    level: float


@short_repr()
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
        replicates = _replicate_figure(matching, ratings, figure, n_bootstrap, seed)[:, None]
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

    Bootstrap and permutation are those of :func:`overread.froc.compare_models`: both models see the same
    patients, and the permutation swaps the models in a random half of them, after each score was replaced
    by its place on its own model's FROC curve.
    """
    check_same_cases(first, second)
    pair = case_ratings(first), case_ratings(second)
    n_units = patients_of_measures(first)["gt_sensitivity"]
    results = []
    for figure in figures:
        one, two = (figure_of_merit(ratings, figure) for ratings in pair)
        replicates = [_replicate_figure(first, ratings, figure, n_bootstrap, seed) for ratings in pair]
        differences = (replicates[1] - replicates[0])[:, None]
        interval = standard_interval(np.array([two - one]), differences, n_units, level)
        lower, upper, p_bootstrap = (float(end[0]) for end in interval)
        results.append(
            FigureComparison(
                figure=figure,
                first=one,
                second=two,
                difference=two - one,
                lower=lower,
                upper=upper,
                level=level,
                p_bootstrap=p_bootstrap,
                p_permutation=_permutation_p_value(first, second, figure, n_permutations, seed),
            )
        )
    return tuple(results)


def _replicate_figure(
    matching: Matching, ratings: CaseRatings, figure: FigureOfMerit, n_bootstrap: int, seed: int
) -> FloatArray:
    """Figures of resampled patients; NaN where a replicate has no denominator."""
    blocks = [
        resample_figures(ratings, figure, counts[:, matching.patients])
        for counts in patient_counts(matching.n_patients, n_bootstrap, seed)
    ]
    return np.concatenate(blocks)


def _permutation_p_value(
    first: Matching, second: Matching, figure: FigureOfMerit, n_permutations: int, seed: int
) -> float:
    """Share of swappings of the models in random patients that differ as much as the data, data included.

    Scores are swapped as places on the model's own FROC curve. The figure of a model does not change by that: places
    keep their order and their ties.
    """
    if n_permutations < 1:
        raise InvalidInputError(f"n_permutations={n_permutations}: need at least 1")
    placed = []
    for model in (first, second):
        places = FrocPlaces.of(model, None)
        highest = np.full(model.n_images, -np.inf)
        np.maximum.at(highest, places.fp_images, -places.fps)
        placed.append(CaseRatings(highest, model.gt_images, -places.gts))

    def difference(swap: NDArray[np.bool_]) -> float:
        """Second minus first, after each got the other's ratings of the swapped cases."""
        fps = [one.highest_fp for one in placed]
        lesions, swapped = [one.lesion_rating for one in placed], swap[first.gt_images]
        one, two = (
            figure_of_merit(
                CaseRatings(
                    np.where(swap, fps[1 - own], fps[own]),
                    first.gt_images,
                    np.where(swapped, lesions[1 - own], lesions[own]),
                ),
                figure,
            )
            for own in (0, 1)
        )
        return two - one

    observed = abs(difference(np.zeros(first.n_images, dtype=bool)))
    generator = np.random.default_rng(seed)
    as_far = 1
    for _ in range(n_permutations):
        swap = generator.integers(0, 2, size=first.n_patients).astype(bool)[first.patients]
        as_far += abs(difference(swap)) >= observed - ROUNDING
    return as_far / (n_permutations + 1)


def choose_better(figure: FigureComparison) -> Literal["first", "second"] | None:
    """Return the better of two models by a comparison; None if neither is shown to be better."""
    if not figure.p_permutation < 1 - figure.level:
        return None
    if figure.lower > 0:
        return "second"
    return "first" if figure.upper < 0 else None


def verdict(first: str, second: str, figures: tuple[FigureComparison, ...]) -> list[str]:
    """Describe the result of the weighted whole-curve figure; the single points are not tested together."""
    if not figures:
        return [f"{first} and {second} cannot be distinguished: there is no object to find."]
    main = figures[-1]
    width = "no interval" if isnan(main.lower) else f"{main.lower:+.3f} to {main.upper:+.3f}"
    numbers = f"{main.difference:+.3f} ({width}), p = {main.p_permutation:.3f}"
    better = choose_better(main)
    if better is not None:
        name = first if better == "first" else second
        return [
            f"{name} is better on these images: {main.figure} of {second} differs from {first} by {numbers}."
        ]
    why = ": every difference within the interval fits these data"
    if isnan(main.lower):
        why = ""
    elif main.p_permutation < 1 - main.level:
        why = ": the permutation test alone speaks for a difference, but the interval holds 0"
    elif main.lower > 0 or main.upper < 0:
        why = ": the interval alone leaves out 0, but the permutation test does not confirm it"
    return [
        f"{first} and {second} cannot be distinguished on these images: {main.figure} differs by {numbers}.",
        f"That is not proof that they are equal{why}.",
    ]
