"""Bootstrap over patients.

A patient is drawn with everything that belongs to it: all images, all false positives, all GTs. Lesions of
one patient are alike, so drawing lesions one by one would make the interval too short.

Intervals from bootstrap replicates.

Measured coverage of both kinds: ``docs/explanation/froc_statistics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from overread._terminal import count_steps
from overread._text import short_repr
from overread.errors import InvalidInputError
from overread.froc._curve import MEASURES, check_targets, froc_curve, performance_at, sensitivity_at
from overread.froc._defaults import FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc._kernels import NEVER, Bytes, Ints32, count_draws, sensitivity_replicates
from overread.froc._matching import Matching

Floats = NDArray[np.float64]

# Differences of shares below this are rounding, not lesions.
ROUNDING = 1e-9
# With this many draws a standard error is known to 7 % (1 / sqrt(2 * 100)).
LEAST_DRAWS = 100


def percentile_interval(replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """Central interval of the replicates along the first axis; undefined replicates are left out."""
    tail = (1 - check_level(level)) / 2
    defined = ~np.isnan(replicates).any(axis=tuple(range(1, replicates.ndim)))
    if not defined.any():
        nothing = np.full(replicates.shape[1:], np.nan)
        return nothing, nothing
    lower, upper = np.quantile(replicates[defined], [tail, 1 - tail], axis=0)
    return lower, upper


def score_interval(estimate: Floats, replicates: Floats, n_units: int, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a proportion, with the bootstrap's variance in place of p (1 - p) / n.

    The bootstrap says how much p varies when patients are drawn again, hence how many independent lesions the
    data are worth: n* = p (1 - p) / variance. Wilson's interval for p and n* is

    ::

        (p + z^2 / 2n* +- z sqrt(p (1 - p) / n* + z^2 / 4n*^2)) / (1 + z^2 / n*).

    It stays within 0 and 1 and holds its level near them, where the percentile interval is too short. At p =
    0 or 1 the bootstrap shows no variance, and n* is the number of patients that have a target.
    """
    defined = replicates[~np.isnan(replicates).any(axis=1)]
    if not len(defined) or not n_units:
        nothing = np.full(estimate.shape, np.nan)
        return nothing, nothing
    variance = defined.var(axis=0)
    share = np.clip(estimate, 0.0, 1.0)  # a weighted mean of ones may come out a rounding above 1
    spread = share * (1 - share)
    seen = (variance > 0) & (spread > 0)
    worth = np.divide(spread, variance, out=np.full(estimate.shape, float(n_units)), where=seen)
    return proportion_interval(share * worth, worth, level)


def rate_interval(
    estimate: Floats, replicates: Floats, n_units: int, level: float, *, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """Interval of a mean number per image, from the standard deviation e of its replicates.

    On the logarithmic scale, with Student's t: m exp(+- t e / m). Numbers of false positives are skewed to
    the right, so the plain interval lies too low. ``freedom`` are the degrees of freedom of e (default:
    patients - 1). No false positive at all has the exact upper end of a Poisson number, -log((1 - level) /
    2) over the number of patients. A rate that all replicates share, as those of a single patient do, says
    nothing of its own error: NaN.
    """
    tail = (1 - check_level(level)) / 2
    defined = replicates[~np.isnan(replicates).any(axis=1)]
    t = stdtrit(np.full(estimate.shape, max(n_units - 1.0, 1.0)) if freedom is None else freedom, 1 - tail)
    error = defined.std(axis=0) if len(defined) and n_units > 1 else np.zeros_like(estimate)
    error = np.where((estimate > 0) & (error <= ROUNDING * estimate), np.nan, error)
    relative = np.divide(t * error, estimate, out=np.zeros_like(estimate), where=estimate > 0)
    upper = np.where(estimate > 0, estimate * np.exp(relative), -np.log(tail) / n_units)
    return estimate * np.exp(-relative), upper


class StandardInterval(NamedTuple):
    """Estimate +- z standard errors, and the two-sided p-value of "zero" that belongs to it; NaN: not known."""

    lower: Floats
    upper: Floats
    p_value: Floats


def standard_interval(estimate: Floats, replicates: Floats, n_units: int, level: float) -> StandardInterval:
    """Interval of a difference of shares from the standard deviation of its replicates along the first axis.

    The plain interval serves, cut at -1 and 1. Percentiles of the replicates, which are multiples of one
    lesion, reject a true null hypothesis too rarely (``docs/explanation/froc_statistics.md``).

    A difference that all replicates share says nothing of its own error, and neither do replicates of fewer
    than two patients with a target (``n_units``): interval and p-value are NaN. No difference at all, in the
    data of several patients and in every replicate, is 0 to 0 with p = 1.
    """
    z = float(ndtri(0.5 + check_level(level) / 2))
    defined = replicates[~np.isnan(replicates).any(axis=1)]
    error = defined.std(axis=0, ddof=1) if len(defined) > 1 else np.full(estimate.shape, np.nan)
    equal = (np.abs(estimate) <= ROUNDING) & (error <= ROUNDING)
    error = np.where(equal, 0.0, np.where(error <= ROUNDING, np.nan, error))
    if n_units < 2:
        error = np.full(estimate.shape, np.nan)
    distance = np.divide(np.abs(estimate), error, out=np.zeros_like(error), where=error != 0)
    lower, upper = (np.clip(estimate + side * z * error, -1.0, 1.0) for side in (-1, 1))
    return StandardInterval(lower, upper, np.asarray(2 * ndtr(-distance)))


def paired_interval(
    differences: NDArray[np.floating], replicates: Floats, n_units: int, level: float
) -> tuple[float, float]:
    """Interval of the mean of paired differences of -1, 0 and 1, also where none or few of them differ from 0.

    Bonett and Price's interval (2012, J. Educ. Behav. Stat. 37:479): two objects are added, one that only the first
    found and one that only the second found, so that it never has zero width. As in :func:`score_interval`, the
    bootstrap says how many independent objects n* the data are worth: at least one per patient with a target
    (``n_units``), at most one per object. With d the mean, q the share that differs, and e the bootstrap's error:

    ::

        m +- z max(e, sqrt(((q n* + 2) / (n* + 2) - m^2) / (n* + 2))),  m = d n* / (n* + 2).

    Replicates of fewer than two such patients say nothing: NaN.
    """
    z = float(ndtri(0.5 + check_level(level) / 2))
    defined = replicates[~np.isnan(replicates)]
    if n_units < 2 or len(defined) < 2:
        return float("nan"), float("nan")
    mean, share = float(np.mean(differences)), float(np.mean(np.abs(differences)))
    variance, spread = float(defined.var(ddof=1)), share - mean**2
    worth = float(n_units)
    if variance > ROUNDING**2 and spread > ROUNDING:
        worth = float(np.clip(spread / variance, n_units, len(differences)))
    middle = mean * worth / (worth + 2)
    smoothed = ((share * worth + 2) / (worth + 2) - middle**2) / (worth + 2)
    half = z * math.sqrt(max(variance, smoothed))
    return max(middle - half, -1.0), min(middle + half, 1.0)


def proportion_interval(found: ArrayLike, total: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Wilson's interval for ``found`` of ``total`` independent lesions.

    The paper's 46 of 104 GTs at 0.5 FP per image: 0.351 to 0.538. None of none has no interval: NaN.
    """
    n = np.asarray(total, dtype=np.float64)
    k = np.asarray(found, dtype=np.float64)
    if ((k < 0) | (k > n)).any():
        raise InvalidInputError(f"found={k}, total={n}: need 0 <= found <= total")
    n = np.where(n > 0, n, np.nan)
    p = k / n
    z2 = float(ndtri(0.5 + check_level(level) / 2)) ** 2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # Exactly 0 and 1 at the ends, where the difference of two equal terms leaves rounding.
    return np.where(p == 0, 0.0, centre - half), np.where(p == 1, 1.0, centre + half)


def check_draws(n_bootstrap: int, level: float) -> None:
    """Refuse fewer draws than an interval needs."""
    least = max(LEAST_DRAWS, math.ceil(2 / (1 - check_level(level)) * (1 - ROUNDING)))
    if n_bootstrap < least:
        raise InvalidInputError(
            f"n_bootstrap={n_bootstrap}: intervals of level {level:g} need at least {least:,} draws"
        )


def check_level(level: float) -> float:
    """Refuse a confidence level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidInputError(f"level={level}: need a number between 0 and 1, such as 0.95")
    return level


Ints = NDArray[np.int64]

# Draws of patients held at once, 1 MB of counts; set by judgement.
CHUNK_DRAWS = 1_000_000


@short_repr()
@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Replicates of FP per image and the four sensitivities, (n_bootstrap, n_points), and the estimates (`points`).

    A replicate with nothing to find is NaN. `n_units` are the patients with something to find, of each measure.
    `fp_freedom` are the degrees of freedom of the variance of FP per image at locked thresholds; None where each
    replicate estimates its thresholds again, and FP per image is what was asked for.
    """

    points: pd.DataFrame
    replicates: dict[str, Floats]
    n_units: dict[str, int]
    fp_freedom: Floats | None = None

    def intervals(
        self, level: float = LEVEL, *, method: Literal["score", "percentile"] = "score"
    ) -> pd.DataFrame:
        """Intervals, one row per point and measure: fp_target, threshold, measure, estimate, lower, upper."""
        rows = []
        for measure in self.replicates:
            lower, upper = self.interval_of(measure, level, method=method)
            rows.append(
                self.points[["fp_target", "threshold"]].assign(
                    measure=measure, estimate=self.points[measure], lower=lower, upper=upper
                )
            )
        return pd.concat(rows, ignore_index=True)

    def interval_of(
        self, measure: str, level: float = LEVEL, *, method: Literal["score", "percentile"] = "score"
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends of one measure, one of each per point.

        ``"score"`` is Wilson's interval with the bootstrap's variance
        (:func:`~overread.froc.score_interval`), for FP per image :func:`~overread.froc.rate_interval`.
        """
        if method not in ("score", "percentile"):
            raise InvalidInputError(f"method={method!r}: use 'score' or 'percentile'")
        values = self.replicates[measure]
        if method == "percentile":
            return percentile_interval(values, level)
        estimate, n_units = self.points[measure].to_numpy(), self.n_units[measure]
        if measure == "fp_per_image":
            return rate_interval(estimate, values, n_units, level, freedom=self.fp_freedom)
        return score_interval(estimate, values, n_units, level)


def bootstrap(
    matching: Matching,
    *,
    fp_targets: ArrayLike = FP_TARGETS,
    thresholds: ArrayLike | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> Bootstrap:
    """Resample patients with replacement.

    Without ``thresholds`` the statistic is "sensitivity at FP": each replicate takes its own lowest
    threshold whose FP per image does not exceed the target. With ``thresholds`` (a locked operating point)
    they stay fixed, and FP per image varies as well.

    Parameters
    ----------
    matching : Matching
        One model on one set of images.
    fp_targets : array-like, default=FP_TARGETS
        FP per image; not used when ``thresholds`` are given.
    thresholds : array-like, optional
        Fixed thresholds.
    n_bootstrap, seed
        Number of replicates; the same seed gives the same replicates, and the same patients for every model.
    """
    n_units = patients_of_measures(matching)
    if thresholds is not None:
        points = performance_at(matching, thresholds)
        points.insert(0, "fp_target", np.nan)
        table = _patient_table(matching, points["threshold"].to_numpy())
        drawn = patient_counts(matching.n_patients, n_bootstrap, seed)
        replicates = stack_blocks([_replicate_locked(counts, table) for counts in drawn])
        return Bootstrap(points, replicates, n_units, _variance_freedom(table))
    targets = check_targets(fp_targets)
    replicates = replicate_at_targets(matching, targets, n_bootstrap, seed)
    return Bootstrap(estimates_at(matching, targets), replicates, n_units)


def patient_counts(
    n_patients: int, n_bootstrap: int, seed: int | np.random.SeedSequence
) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of rows; a row says how often each patient is in one replicate.

    Everything that resamples the same patients with the same seed sees the same replicates.
    """
    if n_bootstrap < 1:
        raise InvalidInputError(f"n_bootstrap={n_bootstrap}: need at least 1")
    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK_DRAWS // n_patients)
    sizes = [min(rows, n_bootstrap - start) for start in range(0, n_bootstrap, rows)]
    for n_rows in count_steps("bootstraps", sizes, n_bootstrap, steps=int):
        size = (n_rows, n_patients)
        # A patient drawn more than 255 times does not happen: with 256 patients its chance is below 1e-500.
        counts = np.zeros(size, dtype=np.uint8)
        count_draws(generator.integers(0, n_patients, size=size, dtype=np.uint32), counts)
        yield counts


@dataclass(frozen=True, slots=True, eq=False)
class SortedEvents:
    """A matching sorted once; ``arrays`` are what ``sensitivity_replicates`` walks, in its order.

    Only the best of the false positives are sorted: few replicates need more than the largest target times
    the number of images, and those that do fall back on all of them.
    """

    matching: Matching
    fp_scores: Floats
    arrays: tuple[Ints32, Floats, Ints32, Ints, Ints32, Bytes, Bytes]

    @classmethod
    def of(cls, matching: Matching, n_best: int | None) -> SortedEvents:
        """Sort the items and the ``n_best`` false positives of a matching by falling score."""
        best = best_false_positives(matching, n_best)
        fp_scores = matching.fp_scores[best]
        items = (matching.targets(), matching.positive_images())
        scores, findable, images, reached = (
            np.concatenate([getattr(item, name) for item in items])
            for name in ("scores", "findable", "images", "reached")
        )
        ranks = np.where(findable, len(best) - np.searchsorted(fp_scores[::-1], scores, side="left"), NEVER)
        order = np.argsort(-scores, kind="stable")
        patients = matching.patients.astype(np.int32)
        arrays = (
            np.bincount(patients, minlength=matching.n_patients).astype(np.int32),
            fp_scores,
            patients[matching.fp_images[best]],
            ranks[order],
            patients[images[order]],
            (order >= matching.n_gts).astype(np.uint8),
            reached[order].astype(np.uint8),
        )
        return cls(matching, fp_scores, arrays)


def needed_fps(matching: Matching, fp_targets: Floats) -> int:
    """Return how many of the best false positives nearly every replicate gets along with."""
    # Replicates scatter around the data's number; a fifth and 1000 more leave few that fall back on all.
    return int(1.2 * fp_targets.max() * matching.n_images) + 1000


def estimates_at(matching: Matching, fp_targets: Floats) -> pd.DataFrame:
    """Sensitivities at FP targets (:func:`~overread.froc.sensitivity_at`) from the false positives they need."""
    best = best_false_positives(matching, needed_fps(matching, fp_targets))
    needed = replace(matching, fp_scores=matching.fp_scores[best], fp_images=matching.fp_images[best])
    return sensitivity_at(froc_curve(needed), fp_targets)


def best_false_positives(matching: Matching, n_best: int | None) -> Ints:
    """Rows of the best false positives by falling score; all of them without ``n_best``."""
    scores = matching.fp_scores
    rows = np.arange(len(scores))
    if n_best is not None and n_best < len(scores):
        rows = np.argpartition(scores, len(scores) - n_best)[len(scores) - n_best :]
    return rows[np.argsort(-scores[rows], kind="stable")]


def replicate_sensitivities(
    events: SortedEvents, counts: NDArray[np.uint8], fp_targets: Floats
) -> dict[str, Floats]:
    """FP per image and the four sensitivities at each target, threshold estimated again in each replicate."""
    order = np.argsort(fp_targets, kind="stable")
    n_replicates, n_targets = len(counts), len(fp_targets)
    shown = np.empty((n_replicates, n_targets, 3), dtype=np.int64)
    totals = np.empty((n_replicates, 5), dtype=np.int64)
    excluded = np.empty((n_replicates, n_targets), dtype=np.int64)
    sensitivity_replicates(counts, *events.arrays, fp_targets[order], shown, totals, excluded)
    n_fps = len(events.fp_scores)
    if n_fps < len(events.matching.fp_scores) and (excluded == n_fps).any():
        return replicate_sensitivities(SortedEvents.of(events.matching, None), counts, fp_targets)
    restored = np.empty_like(shown)
    restored[:, order] = shown
    return _quotients(restored[..., 2], restored[..., 0], restored[..., 1], totals)


def replicate_at_targets(
    matching: Matching, fp_targets: Floats, n_bootstrap: int, seed: int | np.random.SeedSequence
) -> dict[str, Floats]:
    """Replicates of :func:`replicate_sensitivities` over resampled patients."""
    events = SortedEvents.of(matching, needed_fps(matching, fp_targets))
    counts = patient_counts(matching.n_patients, n_bootstrap, seed)
    return stack_blocks([replicate_sensitivities(events, block, fp_targets) for block in counts])


def _patient_table(matching: Matching, thresholds: Floats) -> Floats:
    """Per patient: FPs, GTs and images found at each threshold, then the five totals."""
    items = (matching.targets(), matching.positive_images())
    counted = [matching.fp_images[matching.fp_scores >= threshold] for threshold in thresholds]
    counted += [item.images[item.found_at(threshold)] for item in items for threshold in thresholds]
    counted += [item.images for item in items]
    counted += [item.images[item.reached] for item in items]
    counted.append(np.arange(matching.n_images))
    columns = [np.bincount(matching.patients[images], minlength=matching.n_patients) for images in counted]
    return np.stack(columns, axis=1).astype(np.float64)


def _variance_freedom(table: Floats) -> Floats:
    """Degrees of freedom of the variance of FP per image, at each threshold of a patient table.

    With x the false positives of a patient minus the mean rate times its images, and k the kurtosis of x, the
    variance is known as well as from 2 n / (k - 1) + 1 normal patients (Satterthwaite): few patients with
    many false positives are worth less than their number.
    """
    n_patients, n_thresholds = len(table), (table.shape[1] - 5) // 3
    fps, images = table[:, :n_thresholds], table[:, -1:]
    excess = fps - images * (fps.sum(axis=0) / images.sum())
    squares = (excess**2).mean(axis=0)
    kurtosis = np.divide(
        (excess**4).mean(axis=0), squares**2, out=np.full(n_thresholds, 3.0), where=squares > 0
    )
    return np.asarray(np.clip(2 * n_patients / np.maximum(kurtosis - 1, 1e-9), 1, max(n_patients - 1, 1)))


def _replicate_locked(counts: NDArray[np.uint8], table: Floats) -> dict[str, Floats]:
    """FP per image and the four sensitivities at fixed thresholds: every count is a sum over patients."""
    sums = counts.astype(np.float64) @ table
    fps, gts, images = np.split(sums[:, :-5], 3, axis=1)
    return _quotients(fps, gts, images, sums[:, -5:])


def _quotients(fps: ArrayLike, gts: ArrayLike, images: ArrayLike, totals: ArrayLike) -> dict[str, Floats]:
    """Divide counts by totals (GTs, images with a GT, the same reached, images); NaN for 0/0."""
    total = np.asarray(totals, dtype=np.float64).T[[4, 0, 1, 2, 3], ..., None]
    counts = (fps, gts, images, gts, images)
    with np.errstate(invalid="ignore"):
        quotients = [np.asarray(count) / one for count, one in zip(counts, total, strict=True)]
    return dict(zip(("fp_per_image", *MEASURES), quotients, strict=True))


def stack_blocks(blocks: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Join the replicates of all blocks."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def patients_of_measures(matching: Matching) -> dict[str, int]:
    """Count the patients of each measure: all, those with a target, with a reached one."""
    patients = matching.patients[matching.gt_images]
    anywhere, reached = len(np.unique(patients)), len(np.unique(patients[matching.gt_reached]))
    units = (matching.n_patients, anywhere, anywhere, reached, reached)
    return dict(zip(("fp_per_image", *MEASURES), units, strict=True))
