"""Fractal measures of a patch: two dimensions and the lacunarity."""

from __future__ import annotations

import math

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._context import Context
from overread.features.context._patches import SIDE, copy_centre
from overread.features.families.power_law import POWER_FLOOR, fit_line

# Sides that divide 63, but 1 and 63 itself.
BOXES = np.array([3, 7, 9, 21])
LACUNARITY_BOX = 9
LAGS = np.array([1, 2, 4, 8, 16])
FRACTALS = "Sarkar, Chaudhuri 1994; Mandelbrot 1983"
FEATURES = tuple(
    Feature(name, "texture", "fractal", "1", formula, reference, words)
    for name, formula, reference, words in (
        ("fractal_dimension_variogram", "3 - H, mean |x(p + h) - x(p)| ~ h^H for h = 1, 2, 4, 8, 16 points", FRACTALS,
         "how rough the texture is, from differences between pixels"),
        ("fractal_dimension_boxes",
         "D of n(r) ~ r^-D, n(r) = sum over boxes of r points of 1 + (max - min) 63 / (r range), r = 3, 7, 9, 21",
         FRACTALS,
         "how rough the texture is, from box counting"),
        ("lacunarity", "mean m^2 / (mean m)^2, m = sum of x - min x in boxes of 9 x 9 points", "Allain, Cloitre 1991",
         "how patchy the texture is"),
    )
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Fractal measures of each candidate's patch."""
    out = np.zeros((len(context.row), len(FEATURES)))
    _describe_patches(context.patches, out)
    return to_columns(out)


@kernel
def _absolute_change(source: F32, lag: int) -> float:
    """Sum of absolute differences of points a lag apart, along rows and along columns."""
    step = np.uintp(lag)
    side = np.uintp(source.shape[0])
    total = 0.0
    for y in range(side):
        line = np.float32(0.0)
        for x in range(side - step):
            line += abs(source[y, x + step] - source[y, x])
        total += float(line)
    for y in range(side - step):
        line = np.float32(0.0)
        for x in range(side):
            line += abs(source[y + step, x] - source[y, x])
        total += float(line)
    return total


@kernel
def fractal(source: F32, out: F64) -> None:
    """Dimensions from the variogram and from boxes, and the lacunarity; 2, 2 and 1 where nothing varies."""
    low = high = source[0, 0]
    for y in range(SIDE):
        for x in range(SIDE):
            low = min(low, source[y, x])
            high = max(high, source[y, x])
    out[0] = 2.0
    out[1] = 2.0
    out[2] = 1.0
    if high == low:
        return
    found = np.empty(3)
    log_lag = np.empty(LAGS.size)
    log_change = np.empty(LAGS.size)
    for k in range(LAGS.size):
        lag = LAGS[k]
        change = _absolute_change(source, lag)
        log_lag[k] = math.log(lag)
        log_change[k] = math.log(change / (2.0 * SIDE * (SIDE - lag) * (high - low)) + POWER_FLOOR)
    fit_line(log_lag, log_change, found)
    out[0] = 3.0 - found[0]
    log_size = np.empty(BOXES.size)
    log_boxes = np.empty(BOXES.size)
    for k in range(BOXES.size):
        size = BOXES[k]
        n = SIDE // size
        boxes = first = second = 0.0
        for i in range(n):
            for j in range(n):
                least = most = source[i * size, j * size]
                mass = 0.0
                for y in range(i * size, (i + 1) * size):
                    for x in range(j * size, (j + 1) * size):
                        least = min(least, source[y, x])
                        most = max(most, source[y, x])
                        mass += source[y, x] - low
                boxes += 1.0 + (most - least) / (high - low) * SIDE / size
                first += mass
                second += mass * mass
        log_size[k] = math.log(size)
        log_boxes[k] = math.log(boxes)
        if size == LACUNARITY_BOX:
            out[2] = second * n * n / (first * first)
    fit_line(log_size, log_boxes, found)
    out[1] = -found[0]


@kernel
def _describe_patches(patches: F32, out: F64) -> None:
    """Fill the measures of each patch, in the order of `FEATURES`."""
    source = np.empty((SIDE, SIDE), np.float32)
    for k in range(len(patches)):
        copy_centre(patches[k], source)
        fractal(source, out[k])


FAMILY = Family(FEATURES, _compute)
