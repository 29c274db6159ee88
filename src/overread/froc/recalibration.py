"""Logistic recalibration of probabilities against soft labels: y ~ sigma(a + b logit p).

Conventions: z_i = logit p_i (:func:`clip_logit`), y_i the soft label in [0, 1], w_i the weight of bag i. Both fits
minimize the weighted soft cross-entropy sum w [log(1 + exp m) - y m], m = a + b z; each step of Newton's method is
one pass over the bags, so a bootstrap of many bags costs a handful of passes for each replicate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from overread.froc._kernels import sum_cross_entropy, sum_fitted

__all__ = ["clip_logit", "offset_in_the_large", "recalibrate"]

FloatArray = NDArray[np.float64]

# Beyond this logit a float64 probability is 0 or 1.
LARGEST_LOGIT = 36.7
# Far more than Newton's method needs where there is a minimum; chosen by eye.
NEWTON_STEPS = 60
# 2^-40 of a step changes no loss that float64 tells apart.
HALVINGS = 40
# A step that lowers the loss by less than float64 tells of its sum is the last; the error left is about its square.
LAST_DECREASE = 1e-14
# The bounds alone, halved so often, are closer than float64 tells apart.
OFFSET_STEPS = 80
# A logit is told to some 1e-15 of the clipped range; by eye.
OFFSET_ROUNDING = 1e-13


def clip_logit(p: FloatArray) -> FloatArray:
    """Logit of p, no farther from 0 than a float64 probability can say."""
    return np.clip(logit(p), -LARGEST_LOGIT, LARGEST_LOGIT)


def recalibrate(z: FloatArray, y: FloatArray, weight: FloatArray, start: FloatArray) -> FloatArray:
    """Intercept and slope by Newton's method with halving; NaN where no minimum exists.

    ``start`` is where it begins; one that is not finite counts as 0, 0.
    """
    if not labels_overlap(z[weight > 0], y[weight > 0]):
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


def labels_overlap(z: FloatArray, y: FloatArray) -> bool:
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
