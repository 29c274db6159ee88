"""Compiled loops over columns. `Xt` holds one feature per row (d x n, C order), float32 or float64.

Products run in float64 whatever the precision of `Xt`, so float32 data lose only their rounding.
"""

from __future__ import annotations

import math

import numpy as np

from overread._kernel import kernel


@kernel
def dot_columns(
    Xt: np.ndarray, columns: np.ndarray, first: int, last: int, r: np.ndarray, out: np.ndarray
) -> None:
    """out[c] += sum_i Xt[columns[c], i] r[i - first] over the rows first..last; four columns share each load of r."""
    n = last - first
    c = 0
    while c + 4 <= columns.size:
        xa = Xt[columns[c]][first:last]
        xb = Xt[columns[c + 1]][first:last]
        xc = Xt[columns[c + 2]][first:last]
        xd = Xt[columns[c + 3]][first:last]
        a = 0.0
        b = 0.0
        g = 0.0
        h = 0.0
        for i in range(n):
            ri = r[i]
            a += xa[i] * ri
            b += xb[i] * ri
            g += xc[i] * ri
            h += xd[i] * ri
        out[c] += a
        out[c + 1] += b
        out[c + 2] += g
        out[c + 3] += h
        c += 4
    while c < columns.size:
        xa = Xt[columns[c]][first:last]
        a = 0.0
        for i in range(n):
            a += xa[i] * r[i]
        out[c] += a
        c += 1


@kernel
def add_columns(
    Xt: np.ndarray, columns: np.ndarray, factors: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """out[i - first] += sum_c factors[c] Xt[columns[c], i]; four columns share each load and store of out."""
    n = last - first
    c = 0
    while c + 4 <= columns.size:
        xa = Xt[columns[c]][first:last]
        xb = Xt[columns[c + 1]][first:last]
        xc = Xt[columns[c + 2]][first:last]
        xd = Xt[columns[c + 3]][first:last]
        a, b, g, h = factors[c], factors[c + 1], factors[c + 2], factors[c + 3]
        for i in range(n):
            out[i] += (xa[i] * a + xb[i] * b) + (xc[i] * g + xd[i] * h)
        c += 4
    while c < columns.size:
        xa = Xt[columns[c]][first:last]
        a = factors[c]
        for i in range(n):
            out[i] += xa[i] * a
        c += 1


@kernel
def take_rows(
    Xt: np.ndarray, columns: np.ndarray, rows: np.ndarray, factor: np.ndarray, out: np.ndarray
) -> None:
    """out[c, i] = Xt[columns[c], rows[i]] factor[i]."""
    for c in range(columns.size):
        x = Xt[columns[c]]
        for i in range(rows.size):
            out[c, i] = x[rows[i]] * factor[i]


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
    """Standardize each row of Xt in place; weight sums to 1. A constant row becomes 0 with scale 0."""
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
