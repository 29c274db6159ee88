"""Means over seeds with intervals that hold both what patients are tested and what images were trained on.

A figure of a condition is a mean over S training sets, all judged on the same patients: training set s on patient p
gives mu + a_s + b_p + c_sp. The variance of the mean is

    var = (A + C) / S + B

where A, B and C are the variances of the mean over patients of the three terms. That between training sets is A + C.
Drawing patients again (the models stay) gives B + C / S for the mean of the training sets, and B + C for one of them;
so C is known, and B is what is left, no less than 0. The quantile is Student's with the degrees of freedom of Welch and
Satterthwaite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

__all__ = ["Estimate", "adjust_by_holm", "estimate_mean"]

Floats = NDArray[np.float64]

LEVEL = 0.95
# Of fewer there is no variance.
FEWEST_DRAWS = 2


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, its 95 % interval, and the p-value of the mean being 0 (NaN of a single seed)."""

    value: float
    lower: float
    upper: float
    p_value: float
    n_seeds: int


def estimate_mean(values: ArrayLike, draws: ArrayLike | None, n_patients: int) -> Estimate:
    """Estimate the mean of a figure, or of a paired difference of two, over seeds.

    Parameters
    ----------
    values
        Of each seed (S,).
    draws
        The same in each draw of the test patients (S, B), the same patients for all seeds; None: patients are not
        drawn, and the interval is that of the seeds alone.
    n_patients
        Test patients with something to find.
    """
    given = np.asarray(values, dtype=np.float64)
    n_seeds = len(given)
    if not n_seeds:
        return Estimate(np.nan, np.nan, np.nan, np.nan, 0)
    mean = float(given.mean())
    of_seeds = float(given.var(ddof=1)) / n_seeds if n_seeds > 1 else 0.0
    of_patients = 0.0 if draws is None else _vary_with_patients(_matrix(draws))
    total = of_seeds + of_patients
    if not total > 0:
        # Nothing varies: models that are the same, or a single figure without draws, of which nothing more is known.
        limit, p_value = (0.0, 1.0) if mean == 0 else (float("nan"), float("nan"))
        return Estimate(mean, limit, limit, p_value, n_seeds)
    freedom = total**2 / (of_seeds**2 / max(n_seeds - 1, 1) + of_patients**2 / max(n_patients - 1, 1))
    error = np.sqrt(total)
    half = float(student.ppf((1 + LEVEL) / 2, freedom) * error)
    # One training set says nothing of another one, so nothing is tested.
    p_value = float(2 * student.sf(abs(mean) / error, freedom)) if n_seeds > 1 else float("nan")
    return Estimate(mean, mean - half, mean + half, p_value, n_seeds)


def _vary_with_patients(draws: Floats) -> float:
    """Return the variance of the mean over seeds that patients have in common for all seeds, no less than 0."""
    n_seeds = len(draws)
    # A draw of few patients may have nothing to find in it.
    draws = draws[:, np.isfinite(draws).all(axis=0)]
    if draws.shape[1] < FEWEST_DRAWS:
        return 0.0
    of_mean = float(draws.mean(axis=0).var(ddof=1))
    if n_seeds == 1:
        return of_mean
    of_one = float(draws.var(axis=1, ddof=1).mean())
    return max((n_seeds * of_mean - of_one) / (n_seeds - 1), 0.0)


def _matrix(draws: ArrayLike) -> Floats:
    return np.atleast_2d(np.asarray(draws, dtype=np.float64))


def adjust_by_holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979); NaN stays, and counts as no test."""
    given = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(given), np.nan)
    tested = np.flatnonzero(~np.isnan(given))
    order = tested[np.argsort(given[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return adjusted.tolist()
