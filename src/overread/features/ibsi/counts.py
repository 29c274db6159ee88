"""What all matrices of counts share: logarithms from a table, means over directions, emphasis."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

__all__ = [
    "TABLE_LENGTH",
    "average_directions",
    "emphasis",
    "n_log_n",
    "n_log_n_table",
    "name_columns",
    "ratio",
    "store",
]

# Counts beyond the table are few; their logarithms are computed. 4096 exceeds the 3969 pixels of a candidate's patch.
TABLE_LENGTH = 4096

# Columns that runs, zones and dependences share, in the order of `GLRLM`, `GLSZM` and `NGLDM`; the second quantity is
# run length, zone size or dependence. Zones and runs leave out the last.
EMPHASIS = (
    *("small", "large", "low", "high", "small_low", "small_high", "large_low", "large_high"),
    *("level_nonuniformity", "normalized_level_nonuniformity"),
    *("value_nonuniformity", "normalized_value_nonuniformity"),
    *("percentage", "level_variance", "value_variance", "entropy", "energy"),
)


def name_columns(name: str, columns: Iterable[str], *, module: str) -> Any:
    """Make the tuple by which a kernel gives each number to a column by its name, in the columns' order.

    A module-level variable of ``module`` must have the same name: compiled kernels are cached with it.
    """
    return namedtuple(name, list(columns), module=module)


Emphasis = name_columns("Emphasis", EMPHASIS, module=__name__)


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
def store(values: tuple[float, ...], out: NDArray[np.float64]) -> None:
    """Write named values to an array in their order, as many as it has room for."""
    for k in range(out.size):
        out[k] = values[k]


@kernel
def average_directions(found: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Mean over 4 directions; opposite ones are paired, so that a quarter turn keeps the bits."""
    for f in range(out.size):
        out[f] = ((found[0, f] + found[2, f]) + (found[1, f] + found[3, f])) / 4.0


@kernel
def emphasis(
    counts: NDArray[np.int32],
    values: NDArray[np.float64],
    n_pixels: int,
    table: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Features of a matrix of levels (rows from 1) x values of a second quantity, in the order of `EMPHASIS`.

    ``out`` may be shorter, by what the family leaves out. All 0 where the matrix is empty.
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
    found = Emphasis(
        small=short / total,
        large=long / total,
        low=low / total,
        high=high / total,
        small_low=short_low / total,
        small_high=short_high / total,
        large_low=long_low / total,
        large_high=long_high / total,
        level_nonuniformity=level_squares / total,
        normalized_level_nonuniformity=level_squares / (total * total),
        value_nonuniformity=value_squares / total,
        normalized_value_nonuniformity=value_squares / (total * total),
        percentage=total / n_pixels,
        level_variance=max(0.0, level_square_mean / total - level_mean * level_mean),
        value_variance=max(0.0, long / total - value_mean * value_mean),
        entropy=math.log2(total) - logs / total,
        energy=energy / (total * total),
    )
    store(found, out)
