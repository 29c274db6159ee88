"""Intervals from bootstrap replicates.

Measured coverage of both kinds: ``docs/explanation/froc_statistics.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from overread.errors import InvalidInputError
from overread.froc.defaults import LEVEL

__all__ = [
    "ROUNDING",
    "StandardInterval",
    "check_draws",
    "paired_interval",
    "percentile_interval",
    "proportion_interval",
    "rate_interval",
    "score_interval",
    "standard_interval",
]

Floats = NDArray[np.float64]

# Differences of shares below this are rounding, not lesions.
ROUNDING = 1e-9
# Of so many draws a standard error is known to 7 % (1 / sqrt(2 * 100)).
LEAST_DRAWS = 100


def percentile_interval(replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """Central interval of the replicates along the first axis; undefined replicates are left out."""
    tail = (1 - _check_level(level)) / 2
    defined = ~np.isnan(replicates).any(axis=tuple(range(1, replicates.ndim)))
    if not defined.any():
        nothing = np.full(replicates.shape[1:], np.nan)
        return nothing, nothing
    lower, upper = np.quantile(replicates[defined], [tail, 1 - tail], axis=0)
    return lower, upper


def score_interval(estimate: Floats, replicates: Floats, n_units: int, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a proportion, with the bootstrap's variance in place of p (1 - p) / n.

    The bootstrap says how much p varies when patients are drawn anew, hence how many independent lesions the
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
    tail = (1 - _check_level(level)) / 2
    defined = replicates[~np.isnan(replicates).any(axis=1)]
    t = stdtrit(np.full(estimate.shape, max(n_units - 1.0, 1.0)) if freedom is None else freedom, 1 - tail)
    error = defined.std(axis=0) if len(defined) and n_units > 1 else np.zeros_like(estimate)
    error = np.where((estimate > 0) & (error <= ROUNDING * estimate), np.nan, error)
    relative = np.divide(t * error, estimate, out=np.zeros_like(estimate), where=estimate > 0)
    upper = np.where(estimate > 0, estimate * np.exp(relative), -np.log(tail) / n_units)
    return estimate * np.exp(-relative), upper


@dataclass(frozen=True, slots=True, eq=False)
class StandardInterval:
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
    z = float(ndtri(0.5 + _check_level(level) / 2))
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
    z = float(ndtri(0.5 + _check_level(level) / 2))
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
    z2 = float(ndtri(0.5 + _check_level(level) / 2)) ** 2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # Exactly 0 and 1 at the ends, where the difference of two equal terms leaves rounding.
    return np.where(p == 0, 0.0, centre - half), np.where(p == 1, 1.0, centre + half)


def check_draws(n_bootstrap: int, level: float) -> None:
    """Refuse fewer draws than the ends of an interval can rest on.

    Raises
    ------
    InvalidInputError
        If there are fewer than `LEAST_DRAWS`, or if less than one draw lies beyond each end.
    """
    least = max(LEAST_DRAWS, math.ceil(2 / (1 - _check_level(level)) * (1 - ROUNDING)))
    if n_bootstrap < least:
        raise InvalidInputError(
            f"n_bootstrap={n_bootstrap}: intervals of level {level:g} need at least {least:,} draws"
        )


def _check_level(level: float) -> float:
    """Refuse a confidence level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidInputError(f"level={level}: need a number between 0 and 1, such as 0.95")
    return level
