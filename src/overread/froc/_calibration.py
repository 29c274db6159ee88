"""Are soft probabilities right? Reliability, slope and intercept, Brier score and KL against soft labels.

Conventions: p_i is the model's probability of bag i, y_i its soft label in [0, 1] (the share of readers
who would mark it; section 3 of the paper), a_i its weight, normalized to mean 1. All means are weighted.

- Brier score: mean of (p - y)^2.
- KL divergence: mean of y log(y/p) + (1-y) log((1-y)/(1-p)), with 0 log 0 = 0; infinite where p is 0 or 1
  and y is not. On labels 0 and 1 it is the log loss.
- Slope b and intercept a: the logistic recalibration y ~ sigma(a + b logit p), fitted by the same soft
  cross-entropy; right probabilities have a = 0, b = 1. ``offset`` is a with b fixed at 1 ("in the large").
  Each step of Newton's method is one pass over the bags.
- Reliability: in each bin of p, the mean of p and the mean of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit, xlogy

from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._bootstrap import patient_counts, percentile_interval
from overread.froc._defaults import LEVEL, N_BOOTSTRAP
from overread.froc._kernels import sum_cross_entropy, sum_fitted
from overread.froc.merit._figures_of_merit import patient_groups

FloatArray = NDArray[np.float64]

# Beyond this logit a float64 probability is 0 or 1.
LARGEST_LOGIT = 36.7
# Far more than Newton's method needs if a minimum exists; set by judgement.
NEWTON_STEPS = 60
# 2^-40 of a step changes no loss that float64 resolves.
HALVINGS = 40
# A step that lowers the loss by less than float64 resolves in its sum is the last; the error left is about its square.
LAST_DECREASE = 1e-14
# The bounds alone, halved so often, are closer than float64 resolves.
OFFSET_STEPS = 80
# A logit is accurate to some 1e-15 of the clipped range; by judgement.
OFFSET_ROUNDING = 1e-13


def clip_logit(p: FloatArray) -> FloatArray:
    """Logit of p, no farther from 0 than a float64 probability can say."""
    return np.clip(logit(p), -LARGEST_LOGIT, LARGEST_LOGIT)


def recalibrate(z: FloatArray, y: FloatArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Intercept and slope by Newton's method with halving; NaN where no minimum exists.

    ``start`` is where it begins; one that is not finite counts as 0, 0.
    """
    if not _labels_overlap(z[weight > 0], y[weight > 0]):
        return np.full(2, np.nan)
    found = start if np.isfinite(start).all() else np.zeros(2)
    sums = sum_cross_entropy(z, y, weight, *found)
    for _ in range(NEWTON_STEPS):
        gradient, curvature = sums[1:3], sums[[3, 4, 4, 5]].reshape(2, 2)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step <= LAST_DECREASE * sums[0]:
            return found - step
        for halvings in range(HALVINGS):
            trial = found - step / 2**halvings
            trial_sums = sum_cross_entropy(z, y, weight, *trial)
            if trial_sums[0] <= sums[0]:
                break
        if trial_sums[0] >= sums[0]:
            return found
        found, sums = trial, trial_sums
    return np.full(2, np.nan)


def _labels_overlap(z: FloatArray, y: FloatArray) -> bool:
    """Whether no threshold on z separates labels; a label between 0 and 1 is on both sides."""
    positive, negative = z[y > 0], z[y < 1]
    if not len(positive) or not len(negative):
        return False
    return bool(positive.min() < negative.max() and negative.min() < positive.max())


def offset_in_the_large(z: FloatArray, y: FloatArray, weight: FloatArray, start: float = 0.0) -> float:
    """Intercept with the slope fixed at 1: the mean of sigma(a + z) rises with a.

    Newton's method, kept between bounds that close in; a step that leaves them is replaced by their middle.
    """
    goal = float(weight @ y)
    low, high = -2 * LARGEST_LOGIT, 2 * LARGEST_LOGIT
    if not 0 < goal < weight.sum():
        return np.nan
    found = start if np.isfinite(start) else 0.0
    for _ in range(OFFSET_STEPS):
        fitted, rise = sum_fitted(z, weight, found)
        excess = fitted - goal
        low, high = (low, found) if excess > 0 else (found, high)
        after = found - excess / rise if rise > 0 else np.inf
        after = after if low <= after <= high else (low + high) / 2
        if abs(after - found) <= OFFSET_ROUNDING:
            return after
        found = after
    return found


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its percentile interval over resampled patients; NaN without a bootstrap."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """Mean probability and mean label in each bin that has bags; the bins are (edges[i], edges[i + 1]]."""

    edges: FloatArray
    mean_probability: FloatArray
    mean_label: FloatArray
    label_lower: FloatArray
    label_upper: FloatArray
    n_bags: NDArray[np.intp]


@short_repr("slope", "intercept", "n_bags", "n_patients", "level")
@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Everything about the calibration of one model on one set of bags.

    ``slope`` and ``intercept`` are NaN where they do not exist: all probabilities equal, or labels that the
    probabilities separate. ``brier_of_the_mean`` and ``kl_of_the_mean`` are those of always saying the
    mean label.
    """

    brier: Interval
    kl: Interval
    slope: Interval
    intercept: Interval
    offset: Interval
    brier_of_the_mean: float
    kl_of_the_mean: float
    reliability: ReliabilityCurve
    n_bags: int
    n_patients: int
    level: float


def calibration(
    probabilities: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    patients: ArrayLike | None = None,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> Calibration:
    """Assess probabilities against soft labels.

    Parameters
    ----------
    probabilities, labels : array-like
        p and y of each bag, both in [0, 1].
    sample_weight : array-like, optional
        Weight of each bag; None: 1.
    patients : array-like, optional
        Patient of each bag, the unit that is resampled; None: every bag its own. One alone has no intervals.
    n_bins, strategy
        Bins of the reliability curve: of equal numbers of bags, or of equal width.
    n_bootstrap, seed, level
        Replicates (0: no intervals), their seed, and the level of the intervals.
    """
    p, y = _unit_interval(probabilities, "probabilities"), _unit_interval(labels, "labels")
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if not len(p) == len(y) == len(weight) or weight.ndim != 1:
        raise InvalidInputError(f"{len(p)} probabilities, {len(y)} labels and {len(weight)} weights")
    if not len(p):
        raise InvalidInputError("there are no bags to calibrate")
    if not np.all(np.isfinite(weight) & (weight >= 0)) or not weight.sum() > 0:
        raise InvalidInputError("sample_weight needs finite weights of at least 0, not all of them 0")
    weight = weight / weight.mean()
    group, n_patients = patient_groups(patients, len(p))
    edges = _bin_edges(p, n_bins, strategy)
    n_bins = len(edges) - 1
    bins = np.searchsorted(edges[1:-1], p, side="left")
    z, sums = clip_logit(p), _sum_patients(p, y, weight, bins, n_bins, group, n_patients)
    estimate = summarize(z, y, weight, sums)
    replicates = np.empty((0, len(estimate)))
    # A single patient drawn again and again says nothing of how patients vary.
    if n_bootstrap and n_patients > 1:
        drawn = patient_counts(n_patients, n_bootstrap, seed)
        replicates = np.vstack(
            [_replicate_summaries(z, y, weight, group, sums, estimate, counts) for counts in drawn]
        )
    intervals = []
    for value, drawn_values in zip(estimate, replicates.T, strict=True):
        ends = percentile_interval(drawn_values[np.isfinite(drawn_values), None], level)
        intervals.append(Interval(float(value), *(float(end[0]) for end in ends)))
    # A bag of weight 0 must not turn an infinite divergence into NaN.
    y_used, share = y[weight > 0], weight[weight > 0] / weight.sum()
    brier, kl = (float(share @ one) for one in _compare_labels(np.full_like(y_used, share @ y_used), y_used))
    total, sum_of_p = (np.bincount(bins, weights=one, minlength=n_bins) for one in (weight, weight * p))
    used = np.flatnonzero(total > 0)
    labels_of_bins = np.array([(one.estimate, one.lower, one.upper) for one in intervals[5:]])[used]
    label, label_lower, label_upper = labels_of_bins.T
    n_bags = np.bincount(bins, minlength=n_bins)[used]
    mean_probability = sum_of_p[used] / total[used]
    reliability = ReliabilityCurve(edges, mean_probability, label, label_lower, label_upper, n_bags)
    names = ("brier", "kl", "slope", "intercept", "offset")
    return Calibration(
        **dict(zip(names, intervals[:5], strict=True)),
        brier_of_the_mean=brier,
        kl_of_the_mean=kl,
        reliability=reliability,
        n_bags=len(p),
        n_patients=n_patients,
        level=level,
    )


def _replicate_summaries(
    z: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    group: NDArray[np.intp],
    sums: FloatArray,
    estimate: FloatArray,
    counts: NDArray[np.uint8],
) -> FloatArray:
    """Return what :func:`summarize` does, for each replicate; ``counts`` says how often it has each patient.

    All but the recalibration are ratios of sums, so the sums of each patient will do.
    """
    fits = []
    for count in counts:
        drawn = weight * count[group]
        intercept, slope = recalibrate(z, y, drawn, start=estimate[[3, 2]])
        fits.append([slope, intercept, offset_in_the_large(z, y, drawn, start=estimate[4])])
    return _summarize_sums(counts.astype(np.float64) @ sums, np.array(fits))


def summarize(z: FloatArray, y: FloatArray, weight: FloatArray, sums: FloatArray) -> FloatArray:
    """Brier, KL, slope, intercept, offset, then the mean label of each bin; ``sums`` as of :func:`_sum_patients`."""
    intercept, slope = recalibrate(z, y, weight, start=np.zeros(2))
    fit = np.array([[slope, intercept, offset_in_the_large(z, y, weight)]])
    return _summarize_sums(sums.sum(axis=0, keepdims=True), fit)[0]


def _sum_patients(
    p: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    bins: NDArray[np.intp],
    n_bins: int,
    group: NDArray[np.intp],
    n_patients: int,
) -> FloatArray:
    """Sum over each patient, a row: weight, Brier, finite KL, weight of infinite KL; weight and label of each bin."""
    square, divergence = _compare_labels(p, y)
    is_finite = np.isfinite(divergence)
    columns = [weight, weight * square, weight * np.where(is_finite, divergence, 0.0), weight * ~is_finite]
    sums = [np.bincount(group, column, n_patients) for column in columns]
    cells, n_cells = group * n_bins + bins, n_patients * n_bins
    by_bin = [np.bincount(cells, column, n_cells).reshape(-1, n_bins) for column in (weight, weight * y)]
    return np.hstack([np.stack(sums, axis=1), *by_bin])


def _summarize_sums(sums: FloatArray, fits: FloatArray) -> FloatArray:
    """Brier, KL, the three numbers of the recalibration, the mean label of each bin; NaN where the weight is 0."""
    totals, labels = np.hsplit(sums[:, 4:], 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        brier, kl = sums[:, 1] / sums[:, 0], np.where(sums[:, 3] > 0, np.inf, sums[:, 2] / sums[:, 0])
        return np.column_stack([brier, kl, fits, labels / totals])


def _compare_labels(p: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared difference and KL divergence of each bag."""
    with np.errstate(divide="ignore"):
        cross_entropy = -(xlogy(y, p) + xlogy(1 - y, 1 - p))
    entropy = -(xlogy(y, y) + xlogy(1 - y, 1 - y))
    return (p - y) ** 2, cross_entropy - entropy


def _bin_edges(p: FloatArray, n_bins: int, strategy: str) -> FloatArray:
    """Edges of the bins from 0 to 1; equal quantiles become one edge."""
    if n_bins < 1:
        raise InvalidInputError(f"n_bins={n_bins}: need at least 1")
    if strategy == "uniform":
        return np.linspace(0, 1, n_bins + 1)
    if strategy != "quantile":
        raise InvalidInputError(f"strategy={strategy!r}: use 'quantile' or 'uniform'")
    inner = np.unique(np.quantile(p, np.arange(1, n_bins) / n_bins))
    return np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]])


def _unit_interval(values: ArrayLike, name: str) -> FloatArray:
    """Numbers in [0, 1], one dimension."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInputError(f"{name} needs one dimension, not {array.ndim}")
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if len(wrong):
        raise InvalidInputError(f"{name}[{wrong[0]}] is {array[wrong[0]]}: it must lie in [0, 1]")
    return array
