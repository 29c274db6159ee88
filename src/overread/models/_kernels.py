"""Compiled loops of the models that belong neither to the loss nor to the solver."""

from __future__ import annotations

import math

import numpy as np

from overread.kernel import kernel


@kernel
def standardize_rows(
    Xt: np.ndarray,
    weight: np.ndarray,
    center: bool,
    standardize: bool,
    constant: float,
    means: np.ndarray,
    scales: np.ndarray,
    norms: np.ndarray,
    largest: np.ndarray,
) -> None:
    """Standardize each row of Xt in place; weight sums to 1. A row that does not vary becomes 0 with scale 0."""
    smallest_normal = 2.0**-1022 if Xt.itemsize == 8 else 2.0**-126
    for j in range(Xt.shape[0]):
        x = Xt[j]
        peak = 0.0
        for i in range(x.size):
            peak = max(peak, abs(float(x[i])))
        largest[j] = peak
        means[j] = 0.0
        scales[j] = 0.0
        norms[j] = 0.0
        if peak < smallest_normal:
            x[:] = 0.0
            continue
        exponent = math.frexp(peak)[1]
        unit = math.ldexp(1.0, -exponent) if standardize else 1.0
        mean = 0.0
        for i in range(x.size):
            mean += weight[i] * (float(x[i]) * unit)
        middle = mean if center else 0.0
        variance = 0.0
        for i in range(x.size):
            deviation = float(x[i]) * unit - middle
            variance += weight[i] * deviation * deviation
        spread = math.sqrt(variance)
        if spread <= constant * abs(mean) and center:
            x[:] = 0.0
            continue
        divisor = spread if standardize else 1.0
        total = 0.0
        for i in range(x.size):
            value = (float(x[i]) * unit - middle) / divisor
            x[i] = value
            total += value * value
        means[j] = middle / unit
        scales[j] = divisor / unit
        norms[j] = math.sqrt(total)


@kernel
def rescale_row(x: np.ndarray, unit: float, middle: float, divisor: float) -> None:
    """Standardize one row in place as `standardize_rows` did with the same numbers; a divisor of 0 makes it 0."""
    if divisor == 0.0:
        x[:] = 0.0
        return
    for i in range(x.size):
        x[i] = (float(x[i]) * unit - middle) / divisor


@kernel
def describe_rows(
    Xt: np.ndarray, weight: np.ndarray, means: np.ndarray, spreads: np.ndarray, norms: np.ndarray
) -> None:
    """Mean, standard deviation and Euclidean norm of each row; weight sums to 1."""
    for j in range(Xt.shape[0]):
        x = Xt[j]
        mean = 0.0
        square = 0.0
        total = 0.0
        for i in range(x.size):
            value = float(x[i])
            mean += weight[i] * value
            square += weight[i] * (value * value)
            total += value * value
        means[j] = mean
        spreads[j] = math.sqrt(max(square - mean * mean, 0.0))
        norms[j] = math.sqrt(total)
