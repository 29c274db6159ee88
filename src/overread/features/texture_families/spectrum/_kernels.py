"""Compiled power spectrum and fractal measures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture_families._kernels import SIDE, cut_patch
from overread.kernel import kernel

FFT_SIDE = 64
POWER_FLOOR = 1e-12
BOXES = np.array([3, 7, 9, 21])
LAGS = np.array([1, 2, 4, 8, 16])


@kernel
def transform_columns(
    real: NDArray[np.float64],
    imaginary: NDArray[np.float64],
    cosine: NDArray[np.float64],
    sine: NDArray[np.float64],
) -> None:
    """Radix-2 Fourier transform of every column of a 64-row array, in place."""
    n = FFT_SIDE
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            for x in range(n):
                real[i, x], real[j, x] = real[j, x], real[i, x]
                imaginary[i, x], imaginary[j, x] = imaginary[j, x], imaginary[i, x]
    length = 2
    while length <= n:
        half = length // 2
        for start in range(0, n, length):
            for k in range(half):
                c = cosine[k * (n // length)]
                s = sine[k * (n // length)]
                upper, lower = start + k, start + k + half
                for x in range(n):
                    turned = c * real[lower, x] + s * imaginary[lower, x]
                    other = c * imaginary[lower, x] - s * real[lower, x]
                    real[lower, x] = real[upper, x] - turned
                    imaginary[lower, x] = imaginary[upper, x] - other
                    real[upper, x] += turned
                    imaginary[upper, x] += other
        length *= 2


@kernel
def fit_line(x: NDArray[np.float64], y: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Least-squares slope, intercept and root mean square residual."""
    n = x.size
    mean_x = x.sum() / n
    mean_y = y.sum() / n
    xx = xy = 0.0
    for i in range(n):
        xx += (x[i] - mean_x) ** 2
        xy += (x[i] - mean_x) * (y[i] - mean_y)
    out[0] = xy / xx
    out[1] = mean_y - out[0] * mean_x
    square = 0.0
    for i in range(n):
        square += (y[i] - out[1] - out[0] * x[i]) ** 2
    out[2] = math.sqrt(square / n)


@kernel
def power_law(source: NDArray[np.float32], cycles_per_mm: float, out: NDArray[np.float64]) -> None:
    """Exponent, level at 0.1 cycles/mm and residual of the power law that fits the radial power spectrum."""
    n = FFT_SIDE
    cosine = np.cos(2.0 * np.pi * np.arange(n // 2) / n)
    sine = np.sin(2.0 * np.pi * np.arange(n // 2) / n)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(SIDE) + 1.0) / (SIDE + 1.0))
    total = 0.0
    for y in range(SIDE):
        for x in range(SIDE):
            total += source[y, x]
    mean = total / (SIDE * SIDE)
    real = np.zeros((n, n))
    imaginary = np.zeros((n, n))
    for y in range(SIDE):
        for x in range(SIDE):
            real[y, x] = (source[y, x] - mean) * window[y] * window[x]
    transform_columns(real, imaginary, cosine, sine)
    real = real.T.copy()
    imaginary = imaginary.T.copy()
    transform_columns(real, imaginary, cosine, sine)
    power = np.zeros(n)
    counts = np.zeros(n)
    for y in range(n):
        v = y if y < n // 2 else y - n
        for x in range(n):
            u = x if x < n // 2 else x - n
            ring = int(math.sqrt(float(u * u + v * v)) + 0.5)
            power[ring] += real[y, x] ** 2 + imaginary[y, x] ** 2
            counts[ring] += 1.0
    log_frequency = np.empty(30)
    log_power = np.empty(30)
    for k in range(30):
        ring = k + 2
        log_frequency[k] = math.log10(ring * cycles_per_mm / n)
        log_power[k] = math.log10(power[ring] / counts[ring] + POWER_FLOOR)
    found = np.empty(3)
    fit_line(log_frequency, log_power, found)
    out[0] = -found[0]
    out[1] = found[1] - found[0]
    out[2] = found[2]


@kernel
def absolute_change(source: NDArray[np.float32], lag: int) -> float:
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
def fractal(source: NDArray[np.float32], out: NDArray[np.float64]) -> None:
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
        change = absolute_change(source, lag)
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
        if size == 9:
            out[2] = second * n * n / (first * first)
    fit_line(log_size, log_boxes, found)
    out[1] = -found[0]


@kernel
def spectra_of_patches(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    step: float,
    cycles_per_mm: float,
    out: NDArray[np.float64],
) -> None:
    """6 features a candidate: power law 3, fractal 3."""
    patch = np.empty((SIDE, SIDE), np.float32)
    for k in range(row.size):
        cut_patch(pixels, row[k], column[k], step, patch)
        power_law(patch, cycles_per_mm, out[k, :3])
        fractal(patch, out[k, 3:])
