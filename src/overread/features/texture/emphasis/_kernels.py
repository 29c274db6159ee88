"""Compiled features of any matrix of counts; logarithms of counts come from a table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

# Counts beyond the table are few; their logarithms are computed.
TABLE_LENGTH = 4096


@kernel
def n_log_n_table(length: int) -> NDArray[np.float64]:
    """Table of n log2 n; 0 at n = 0."""
    table = np.zeros(length)
    for n in range(2, length):
        table[n] = n * math.log2(n)
    return table


@kernel
def n_log_n(n: int, table: NDArray[np.float64]) -> float:
    """Give n log2 n, from the table as far as it reaches."""
    if n < table.size:
        return float(table[n])
    return n * math.log2(n)


@kernel
def ratio(numerator: float, denominator: float) -> float:
    """Quotient with 0 / 0 = 0."""
    if denominator == 0.0 and numerator == 0.0:
        return 0.0
    return numerator / denominator


@kernel
def emphasis(
    counts: NDArray[np.int32],
    values: NDArray[np.float64],
    n_pixels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """17 features of a matrix of levels (rows from 1) x values of a second quantity.

    Runs, zones and dependences share them: the second quantity is run length, zone size or dependence. The last
    one, the energy, is used for dependences only. All 0 where the matrix is empty.
    """
    out[:] = 0.0
    n_levels, n_values = counts.shape
    column = np.zeros(n_values)
    inverse_square = np.zeros(n_values)
    for k in range(n_values):
        inverse_square[k] = 1.0 / (values[k] * values[k])
    total = level_squares = logs = level_mean = level_square_mean = energy = 0.0
    short_low = short_high = long_low = long_high = short = long = low = high = 0.0
    for level in range(1, n_levels):
        row = counts[level]
        n = row_short = row_long = 0.0
        for k in range(n_values):
            c = float(row[k])
            n += c
            row_short += c * inverse_square[k]
            row_long += c * values[k] * values[k]
            energy += c * c
            column[k] += c
        if n == 0.0:
            continue
        for k in range(n_values):
            if row[k] > 1:
                logs += n_log_n(row[k], table)
        square = float(level * level)
        total += n
        level_squares += n * n
        level_mean += n * level
        level_square_mean += n * square
        short += row_short
        long += row_long
        low += n / square
        high += n * square
        short_low += row_short / square
        short_high += row_short * square
        long_low += row_long / square
        long_high += row_long * square
    if total == 0.0:
        return
    value_squares = value_mean = 0.0
    for k in range(n_values):
        value_squares += column[k] * column[k]
        value_mean += column[k] * values[k]
    level_mean /= total
    value_mean /= total
    out[0] = short / total
    out[1] = long / total
    out[2] = low / total
    out[3] = high / total
    out[4] = short_low / total
    out[5] = short_high / total
    out[6] = long_low / total
    out[7] = long_high / total
    out[8] = level_squares / total
    out[9] = level_squares / (total * total)
    out[10] = value_squares / total
    out[11] = value_squares / (total * total)
    out[12] = total / n_pixels
    out[13] = max(0.0, level_square_mean / total - level_mean * level_mean)
    out[14] = max(0.0, long / total - value_mean * value_mean)
    out[15] = math.log2(total) - logs / total
    out[16] = energy / (total * total)
