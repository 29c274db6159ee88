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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.one_line import print_as_one_line

__all__ = [
    "AfrocCurve",
    "CaseRatings",
    "FigureOfMerit",
    "afroc_curve",
    "figure_of_merit",
    "jackknife_figures",
    "patient_groups",
    "resample_figures",
]

FigureOfMerit = Literal["AFROC", "wAFROC", "AFROC1", "wAFROC1"]
"""w: every case with lesions weighs the same. 1: false positives of all cases count, not of normal ones alone."""
FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Weights that were written with six decimals still sum to 1.
WEIGHT_SUM_TOLERANCE = 1e-6


@print_as_one_line()
@dataclass(frozen=True, slots=True, eq=False)
class CaseRatings:
    """What one reader (or one model) said of every case.

    Attributes
    ----------
    highest_fp
        Highest false-positive rating of each case; ``-inf`` where there is none. Shape (n_cases,).
    lesion_case
        Position of each lesion's case in ``highest_fp``. Shape (n_lesions,).
    lesion_rating
        Highest rating that hits each lesion; ``-inf`` where it is unmarked. Shape (n_lesions,).
    lesion_weight
        Clinical weight of each lesion, summing to 1 within a case; None: 1 / (lesions of the case).
    """

    highest_fp: FloatArray
    lesion_case: IndexArray
    lesion_rating: FloatArray
    lesion_weight: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "highest_fp", ratings_array(self.highest_fp, "highest_fp"))
        object.__setattr__(self, "lesion_rating", ratings_array(self.lesion_rating, "lesion_rating"))
        object.__setattr__(self, "lesion_case", case_positions(self.lesion_case, self.n_cases))
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


@print_as_one_line("figure", "thresholds")
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
    check_figure(figure)
    fp_count, weight = fp_cases(ratings, figure).astype(float), raw_weights(ratings, figure)
    n, total = fp_count.sum(), weight.sum()
    check_denominators(n, total, figure)
    return float(weight @ placements(ratings.highest_fp, fp_count, ratings.lesion_rating) / (n * total))


def resample_figures(ratings: CaseRatings, figure: FigureOfMerit, case_counts: ArrayLike) -> FloatArray:
    """Return theta of resampled cases, one for each row of counts.

    Parameters
    ----------
    ratings, figure
        As for :func:`figure_of_merit`.
    case_counts
        How often each case counts in each replicate, shape (n_replicates, n_cases). A case that counts c
        times gives c copies of its f_k and of its lesions.

    Returns
    -------
    array
        NaN where a replicate has no lesions, or no cases that give false positives.
    """
    check_figure(figure)
    counts = check_counts(case_counts, ratings.n_cases)
    order = np.argsort(ratings.highest_fp, kind="stable")
    below = np.searchsorted(ratings.highest_fp[order], ratings.lesion_rating, side="left")
    up_to = np.searchsorted(ratings.highest_fp[order], ratings.lesion_rating, side="right")
    cumulative = np.zeros((len(counts), ratings.n_cases + 1))
    np.cumsum(counts[:, order] * fp_cases(ratings, figure)[order], axis=1, out=cumulative[:, 1:])
    weight = counts[:, ratings.lesion_case] * raw_weights(ratings, figure)
    beaten = 0.5 * np.sum(weight * (cumulative[:, below] + cumulative[:, up_to]), axis=1)
    denominator = cumulative[:, -1] * weight.sum(axis=1)
    return np.divide(beaten, denominator, out=np.full(len(counts), np.nan), where=denominator > 0)


def afroc_curve(ratings: CaseRatings, figure: FigureOfMerit = "wAFROC") -> AfrocCurve:
    """Return the curve of one reader or model; ties are one step, drawn as a straight line."""
    check_figure(figure)
    fp = ratings.highest_fp[fp_cases(ratings, figure)]
    weight = raw_weights(ratings, figure)
    check_denominators(len(fp), weight.sum(), figure)
    observed = np.concatenate([fp, ratings.lesion_rating])
    thresholds = np.unique(observed[np.isfinite(observed)])[::-1]
    curve_fp = upper_share(fp, np.ones(len(fp)), thresholds)
    curve_lesions = upper_share(ratings.lesion_rating, weight, thresholds)
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
    check_figure(figure)
    group, n_groups = patient_groups(patients, ratings.n_cases)
    is_fp = fp_cases(ratings, figure)
    fp_count, weight = is_fp.astype(float), raw_weights(ratings, figure)
    column = weight * placements(ratings.highest_fp, fp_count, ratings.lesion_rating)
    row = fp_count * (weight.sum() - placements(ratings.lesion_rating, weight, ratings.highest_fp))
    lesion_group = group[ratings.lesion_case]
    n_left = is_fp.sum() - np.bincount(group, weights=fp_count, minlength=n_groups)
    weight_left = weight.sum() - np.bincount(lesion_group, weights=weight, minlength=n_groups)
    check_denominators(n_left.min(initial=np.inf), weight_left.min(initial=np.inf), figure)
    kept = (
        column.sum()
        - np.bincount(group, weights=row, minlength=n_groups)
        - np.bincount(lesion_group, weights=column, minlength=n_groups)
        + own_blocks(ratings, fp_count, weight, group, n_groups)
    )
    return kept / (n_left * weight_left)


def own_blocks(
    ratings: CaseRatings, fp_count: FloatArray, weight: FloatArray, group: IndexArray, n_groups: int
) -> FloatArray:
    """Sum of v_l psi(f_k, y_l) over the pairs in which case k and lesion l belong to the same patient."""
    block = np.zeros(n_groups)
    lesion_group = group[ratings.lesion_case]
    by_group = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    for lesion, owner in enumerate(lesion_group):
        cases = by_group[starts[owner] : starts[owner + 1]]
        beaten = psi(ratings.highest_fp[cases], ratings.lesion_rating[lesion])
        block[owner] += weight[lesion] * (fp_count[cases] @ beaten)
    return block


def psi(fp: FloatArray, lesion: float) -> FloatArray:
    """1 where the false positive is below the lesion, 1/2 where they are equal, else 0."""
    return (fp < lesion) + 0.5 * (fp == lesion)


def placements(reference: FloatArray, reference_weight: FloatArray, values: FloatArray) -> FloatArray:
    """sum_k u_k psi(reference_k, value) for every value, by one sort."""
    order = np.argsort(reference, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(reference_weight[order])])
    below = np.searchsorted(reference[order], values, side="left")
    up_to = np.searchsorted(reference[order], values, side="right")
    return 0.5 * (cumulative[below] + cumulative[up_to])


def upper_share(values: FloatArray, weight: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Weighted share of the values at or above each threshold."""
    order = np.argsort(values, kind="stable")
    above = np.concatenate([np.cumsum(weight[order][::-1])[::-1], [0.0]])
    # Divided by the same running sum, so that the share of everything is exactly 1.
    return above[np.searchsorted(values[order], thresholds, side="left")] / above[0]


def fp_cases(ratings: CaseRatings, figure: FigureOfMerit) -> NDArray[np.bool_]:
    """Cases whose highest false positive enters the figure."""
    if figure.endswith("1"):
        return np.ones(ratings.n_cases, dtype=bool)
    return ratings.lesions_per_case == 0


def raw_weights(ratings: CaseRatings, figure: FigureOfMerit) -> FloatArray:
    """v_l: the lesion weights of the weighted figures, else 1."""
    return ratings.weights() if figure.startswith("w") else np.ones(len(ratings.lesion_rating))


def ratings_array(values: ArrayLike, name: str) -> FloatArray:
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


def case_positions(values: ArrayLike, n_cases: int) -> IndexArray:
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


def check_counts(values: ArrayLike, n_cases: int) -> FloatArray:
    """How often each case counts, as floats, none negative."""
    counts = np.asarray(values, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] != n_cases or not np.all(np.isfinite(counts) & (counts >= 0)):
        raise InvalidInputError(f"case_counts needs rows of {n_cases} finite numbers of at least 0")
    return counts


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


def check_figure(figure: str) -> None:
    """Refuse a figure of merit that does not exist."""
    if figure not in get_args(FigureOfMerit):
        raise InvalidInputError(
            f"unknown figure of merit {figure!r}: one of {', '.join(get_args(FigureOfMerit))}"
        )


def check_denominators(n_fp_cases: float, lesion_total: float, figure: FigureOfMerit) -> None:
    """Refuse a figure without lesions or without the cases that give false positives."""
    if not lesion_total > 0:
        raise InvalidInputError(f"{figure} needs lesions, and there are none (left)")
    if not n_fp_cases > 0:
        remedy = (
            "add cases"
            if figure.endswith("1")
            else f"use {figure}1, which takes false positives from all cases"
        )
        raise InvalidInputError(f"{figure} needs cases without lesions, and there are none (left): {remedy}")
