"""Compiled filters: local binary patterns, Gabor, Laws, the power spectrum and fractal measures."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture_families._kernels import CUT, SIDE, approximate, centre, cut_patch
from overread.kernel import kernel

N_LBP = 54
N_GABOR = 32
N_LAWS = 14
N_SPECTRUM = 6
GABOR_HALF = 5
FFT_SIDE = 64
POWER_FLOOR = 1e-12
BOXES = np.array([3, 7, 9, 21])
LAGS = np.array([1, 2, 4, 8, 16])
LAWS = np.array(
    [
        [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16],
        [-1 / 6, -2 / 6, 0.0, 2 / 6, 1 / 6],
        [-1 / 4, 0.0, 2 / 4, 0.0, -1 / 4],
        [-1 / 6, 2 / 6, 0.0, -2 / 6, 1 / 6],
        [1 / 16, -4 / 16, 6 / 16, -4 / 16, 1 / 16],
    ],
    np.float32,
)


@kernel
def local_binary_patterns(patch: NDArray[np.float32], radius: int, out: NDArray[np.float64]) -> None:
    """Shares of the 8 radius + 2 rotation-invariant uniform patterns in the middle of a patch."""
    n_points = 8 * radius
    edge = (patch.shape[0] - SIDE) // 2
    down = np.empty(n_points, np.int64)
    right = np.empty(n_points, np.int64)
    weight = np.empty((n_points, 4), np.float32)
    for p in range(n_points):
        angle = 2.0 * math.pi * p / n_points
        y = round(-radius * math.sin(angle), 5)
        x = round(radius * math.cos(angle), 5)
        down[p] = math.floor(y)
        right[p] = math.floor(x)
        fy = y - down[p]
        fx = x - right[p]
        weight[p, 0] = (1.0 - fy) * (1.0 - fx)
        weight[p, 1] = (1.0 - fy) * fx
        weight[p, 2] = fy * (1.0 - fx)
        weight[p, 3] = fy * fx
    counts = np.zeros(n_points + 2, np.int64)
    ones = np.empty(SIDE, np.int32)
    changes = np.empty(SIDE, np.int32)
    first = np.empty(SIDE, np.int32)
    before = np.empty(SIDE, np.int32)
    for y in range(SIDE):
        here = patch[edge + y, edge : edge + SIDE]
        for p in range(n_points):
            upper = patch[edge + y + down[p]]
            lower = patch[edge + y + down[p] + (1 if weight[p, 2] + weight[p, 3] > 0.0 else 0)]
            start = edge + right[p]
            next_column = 1 if weight[p, 1] + weight[p, 3] > 0.0 else 0
            w0, w1, w2, w3 = weight[p, 0], weight[p, 1], weight[p, 2], weight[p, 3]
            for x in range(SIDE):
                # Differences first: on equal pixels the sum is exactly 0.
                v = here[x]
                difference = (
                    w0 * (upper[start + x] - v)
                    + w1 * (upper[start + x + next_column] - v)
                    + w2 * (lower[start + x] - v)
                    + w3 * (lower[start + x + next_column] - v)
                )
                bit = np.int32(1) if difference >= np.float32(0.0) else np.int32(0)
                if p == 0:
                    first[x] = bit
                    ones[x] = bit
                    changes[x] = 0
                else:
                    ones[x] += bit
                    changes[x] += bit ^ before[x]
                before[x] = bit
        for x in range(SIDE):
            uniform = changes[x] + (first[x] ^ before[x]) <= 2
            counts[ones[x] if uniform else n_points + 1] += 1
    for k in range(n_points + 2):
        out[k] = counts[k] / (SIDE * SIDE)


@kernel
def gabor_taps(wave: float, carrier: NDArray[np.float32]) -> None:
    """Rows of 1D taps: Gaussian, then cosine and sine at the full frequency and at the diagonal's component."""
    total = 0.0
    for k in range(2 * GABOR_HALF + 1):
        total += math.exp(-((k - GABOR_HALF) ** 2) / (0.5 * wave * wave))
    for k in range(2 * GABOR_HALF + 1):
        t = k - GABOR_HALF
        bell = math.exp(-(t**2) / (0.5 * wave * wave)) / total
        carrier[0, k] = bell
        for c in range(2):
            phase = 2.0 * math.pi * t / wave * (math.sqrt(0.5) if c == 1 else 1.0)
            carrier[1 + 2 * c, k] = bell * math.cos(phase)
            carrier[2 + 2 * c, k] = bell * math.sin(phase)


@kernel
def filter_column(
    source: NDArray[np.float32], taps: NDArray[np.float32], y: int, out: NDArray[np.float32]
) -> None:
    """Sum of rows y, y + 1, ... of the source weighted by the taps."""
    out[:] = np.float32(0.0)
    for t in range(taps.size):
        weight = taps[t]
        line = source[y + t]
        for x in range(out.size):
            out[x] += weight * line[x]


@kernel
def gabor_magnitudes(
    samples: NDArray[np.float32], carrier: NDArray[np.float32], out: NDArray[np.float64]
) -> None:
    """Mean and standard deviation of the magnitude of 4 Gabor filters (0, 45, 90, 135 degrees) on samples.

    An isotropic Gabor filter is separable: its diagonal directions are sums of products of 1D filters. The
    response to a constant, which the sampled cosine leaves, is subtracted.
    """
    side = samples.shape[0] - 2 * GABOR_HALF
    rows = np.empty((5, samples.shape[0], side), np.float32)
    for c in range(5):
        for y in range(samples.shape[0]):
            rows[c, y] = np.float32(0.0)
            for t in range(2 * GABOR_HALF + 1):
                weight = carrier[c, t]
                for x in range(side):
                    rows[c, y, x] += weight * samples[y, x + t]
    straight = carrier[1].sum()
    diagonal = carrier[3].sum() ** 2
    part = np.empty((9, side), np.float32)
    mean = np.zeros(4)
    square = np.zeros(4)
    magnitude = np.empty((4, side), np.float32)
    for y in range(side):
        filter_column(rows[0], carrier[0], y, part[0])
        filter_column(rows[1], carrier[0], y, part[1])
        filter_column(rows[2], carrier[0], y, part[2])
        filter_column(rows[0], carrier[1], y, part[3])
        filter_column(rows[0], carrier[2], y, part[4])
        filter_column(rows[3], carrier[3], y, part[5])
        filter_column(rows[4], carrier[4], y, part[6])
        filter_column(rows[3], carrier[4], y, part[7])
        filter_column(rows[4], carrier[3], y, part[8])
        for x in range(side):
            plain = part[0, x]
            even = part[1, x] - straight * plain
            magnitude[0, x] = math.sqrt(even * even + part[2, x] * part[2, x])
            even = part[3, x] - straight * plain
            magnitude[2, x] = math.sqrt(even * even + part[4, x] * part[4, x])
            # Rows are counted downwards, so the direction that rises to the right has opposite signs.
            even = part[5, x] + part[6, x] - diagonal * plain
            odd = part[8, x] - part[7, x]
            magnitude[1, x] = math.sqrt(even * even + odd * odd)
            even = part[5, x] - part[6, x] - diagonal * plain
            odd = part[8, x] + part[7, x]
            magnitude[3, x] = math.sqrt(even * even + odd * odd)
        for direction in range(4):
            for x in range(side):
                m = float(magnitude[direction, x])
                mean[direction] += m
                square[direction] += m * m
    n = side * side
    for direction in range(4):
        out[2 * direction] = mean[direction] / n
        spread = square[direction] / n - (mean[direction] / n) ** 2
        out[2 * direction + 1] = math.sqrt(max(0.0, spread))


@kernel
def sample_centred(source: NDArray[np.float32], stride: int, half: int, samples: NDArray[np.float32]) -> None:
    """Every stride-th pixel around the middle, 2 half + 1 of them a side, replicated beyond the source."""
    middle = source.shape[0] // 2
    reach = middle // stride
    for i in range(2 * half + 1):
        y = middle + stride * min(max(i - half, -reach), reach)
        for j in range(2 * half + 1):
            x = middle + stride * min(max(j - half, -reach), reach)
            samples[i, j] = source[y, x]


@kernel
def laws_energies(patch: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    """Mean absolute response to the 24 zero-mean 5 x 5 Laws masks, a mask and its transpose averaged: 14."""
    source = centre(patch, SIDE + 4)
    rows = np.empty((5, SIDE + 4, SIDE), np.float32)
    for c in range(5):
        for y in range(SIDE + 4):
            for x in range(SIDE):
                total = np.float32(0.0)
                for t in range(5):
                    total += LAWS[c, t] * source[y, x + t]
                rows[c, y, x] = total
    energy = np.zeros((5, 5))
    for c in range(5):
        for r in range(5):
            if r == 0 and c == 0:
                continue
            l0, l1, l2, l3, l4 = LAWS[r, 0], LAWS[r, 1], LAWS[r, 2], LAWS[r, 3], LAWS[r, 4]
            total_energy = 0.0
            for y in range(SIDE):
                a, b, m = rows[c, y], rows[c, y + 1], rows[c, y + 2]
                d, e = rows[c, y + 3], rows[c, y + 4]
                line = np.float32(0.0)
                for x in range(SIDE):
                    line += abs(l0 * a[x] + l1 * b[x] + l2 * m[x] + l3 * d[x] + l4 * e[x])
                total_energy += line
            energy[r, c] = total_energy / (SIDE * SIDE)
    k = 0
    for r in range(5):
        for c in range(r, 5):
            if c > 0:
                out[k] = 0.5 * (energy[r, c] + energy[c, r])
                k += 1


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
def power_law(patch: NDArray[np.float32], cycles_per_mm: float, out: NDArray[np.float64]) -> None:
    """Exponent, level at 0.1 cycles/mm and residual of the power law that fits the radial power spectrum."""
    n = FFT_SIDE
    source = centre(patch, SIDE)
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
def fractal(patch: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    """Dimensions from the variogram and from boxes, and the lacunarity; 2, 2 and 1 where nothing varies."""
    source = centre(patch, SIDE)
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
        change = 0.0
        for y in range(SIDE):
            line = np.float32(0.0)
            for x in range(SIDE - lag):
                line += abs(source[y, x + lag] - source[y, x])
            change += line
        for y in range(SIDE - lag):
            line = np.float32(0.0)
            for x in range(SIDE):
                line += abs(source[y + lag, x] - source[y, x])
            change += line
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
def filters_of_patches(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    step: float,
    cycles_per_mm: float,
    out: NDArray[np.float64],
) -> None:
    """106 features a candidate: local binary patterns 54, Gabor 32, Laws 14, power law and fractal 6."""
    patch = np.empty((CUT, CUT), np.float32)
    level1 = np.empty((CUT - 4, CUT - 4), np.float32)
    level2 = np.empty((CUT - 12, CUT - 12), np.float32)
    level3 = np.empty((CUT - 28, CUT - 28), np.float32)
    level4 = np.empty((SIDE, SIDE), np.float32)
    samples = np.empty((SIDE + 2 * GABOR_HALF, SIDE + 2 * GABOR_HALF), np.float32)
    carrier = np.empty((5, 2 * GABOR_HALF + 1), np.float32)
    gabor_taps(4.0, carrier)
    for k in range(row.size):
        cut_patch(pixels, row[k], column[k], step, patch)
        approximate(patch, level1, level2, level3, level4)
        answer = out[k]
        local_binary_patterns(patch, 1, answer[:10])
        local_binary_patterns(patch, 2, answer[10:28])
        local_binary_patterns(patch, 3, answer[28:54])
        for scale in range(4):
            half = ((SIDE // 2) >> scale) + GABOR_HALF
            part = samples[: 2 * half + 1, : 2 * half + 1]
            if scale == 0:
                sample_centred(patch, 1, half, part)
            elif scale == 1:
                sample_centred(level1, 2, half, part)
            elif scale == 2:
                sample_centred(level2, 4, half, part)
            else:
                sample_centred(level3, 8, half, part)
            gabor_magnitudes(part, carrier, answer[54 + 8 * scale : 62 + 8 * scale])
        laws_energies(patch, answer[86:100])
        power_law(patch, cycles_per_mm, answer[100:103])
        fractal(patch, answer[103:106])
