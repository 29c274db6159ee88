"""Compiled Gabor and Laws filters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture_families._kernels import CUT, SIDE, approximate, copy_centre, cut_patch
from overread.kernel import kernel

GABOR_HALF = 5
GABOR_TAPS = 2 * GABOR_HALF + 1
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
def gabor_taps(wave: float, carrier: NDArray[np.float32]) -> None:
    """Rows of 1D taps: Gaussian, then cosine and sine at the full frequency and at the diagonal's component."""
    total = 0.0
    for k in range(GABOR_TAPS):
        total += math.exp(-((k - GABOR_HALF) ** 2) / (0.5 * wave * wave))
    for k in range(GABOR_TAPS):
        t = k - GABOR_HALF
        bell = math.exp(-(t**2) / (0.5 * wave * wave)) / total
        carrier[0, k] = bell
        for c in range(2):
            phase = 2.0 * math.pi * t / wave * (math.sqrt(0.5) if c == 1 else 1.0)
            carrier[1 + 2 * c, k] = bell * math.cos(phase)
            carrier[2 + 2 * c, k] = bell * math.sin(phase)


@kernel
def filter_rows(source: NDArray[np.float32], taps: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Weighted sum of `GABOR_TAPS` neighbours of each row; out is narrower. The fixed number unrolls."""
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            total = np.float32(0.0)
            for t in range(np.uintp(GABOR_TAPS)):
                total += taps[t] * source[y, x + t]
            out[y, x] = total


@kernel
def filter_columns(source: NDArray[np.float32], taps: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Weighted sum of `GABOR_TAPS` neighbours of each column; out is lower."""
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            total = np.float32(0.0)
            for t in range(np.uintp(GABOR_TAPS)):
                total += taps[t] * source[y + t, x]
            out[y, x] = total


@kernel
def summarize_magnitude(
    even: NDArray[np.float32], odd: NDArray[np.float32], plain: NDArray[np.float32], bias: float
) -> tuple[float, float]:
    """Mean and standard deviation of |even - bias plain + i odd|."""
    total = square = 0.0
    b = np.float32(bias)
    n = even.size
    even, odd, plain = even.ravel(), odd.ravel(), plain.ravel()
    for i in range(n):
        e = even[i] - b * plain[i]
        power = e * e + odd[i] * odd[i]
        total += float(np.sqrt(power))
        square += float(power)
    mean = total / n
    return mean, math.sqrt(max(0.0, square / n - mean * mean))


@kernel
def turn(a: NDArray[np.float32], b: NDArray[np.float32]) -> None:
    """Replace a and b by a + b and a - b."""
    first, second = a.ravel(), b.ravel()
    for i in range(first.size):
        total = first[i] + second[i]
        second[i] = first[i] - second[i]
        first[i] = total


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
        filter_rows(samples, carrier[c], rows[c])
    part = np.empty((5, side, side), np.float32)
    straight = carrier[1].sum()
    diagonal = carrier[3].sum() ** 2
    plain = part[4]
    filter_columns(rows[0], carrier[0], plain)
    filter_columns(rows[1], carrier[0], part[0])
    filter_columns(rows[2], carrier[0], part[1])
    out[0], out[1] = summarize_magnitude(part[0], part[1], plain, straight)
    filter_columns(rows[0], carrier[1], part[0])
    filter_columns(rows[0], carrier[2], part[1])
    out[4], out[5] = summarize_magnitude(part[0], part[1], plain, straight)
    filter_columns(rows[3], carrier[3], part[0])
    filter_columns(rows[4], carrier[4], part[1])
    filter_columns(rows[3], carrier[4], part[2])
    filter_columns(rows[4], carrier[3], part[3])
    # Rows are counted downwards: the direction that rises to the right has opposite signs.
    turn(part[0], part[1])
    turn(part[3], part[2])
    out[2], out[3] = summarize_magnitude(part[0], part[2], plain, diagonal)
    out[6], out[7] = summarize_magnitude(part[1], part[3], plain, diagonal)


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
def laws_rows(source: NDArray[np.float32], taps: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Weighted sum of five neighbours of each row."""
    w0, w1, w2, w3, w4 = taps[0], taps[1], taps[2], taps[3], taps[4]
    u1, u2, u3, u4 = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            total = w0 * source[y, x] + w1 * source[y, x + u1] + w2 * source[y, x + u2]
            out[y, x] = total + w3 * source[y, x + u3] + w4 * source[y, x + u4]


@kernel
def absolute_sum(source: NDArray[np.float32], taps: NDArray[np.float32]) -> float:
    """Sum over all points of the absolute value of five taps along the columns."""
    w0, w1, w2, w3, w4 = taps[0], taps[1], taps[2], taps[3], taps[4]
    u1, u2, u3, u4 = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    total = 0.0
    for y in range(np.uintp(source.shape[0] - 4)):
        line = np.float32(0.0)
        for x in range(np.uintp(source.shape[1])):
            response = w0 * source[y, x] + w1 * source[y + u1, x] + w2 * source[y + u2, x]
            line += abs(response + w3 * source[y + u3, x] + w4 * source[y + u4, x])
        total += float(line)
    return total


@kernel
def laws_energies(patch: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    """Mean absolute response to the 24 zero-mean 5 x 5 Laws masks, a mask and its transpose averaged: 14."""
    source = np.empty((SIDE + 4, SIDE + 4), np.float32)
    copy_centre(patch, source)
    rows = np.empty((5, SIDE + 4, SIDE), np.float32)
    energy = np.zeros((5, 5))
    for c in range(5):
        laws_rows(source, LAWS[c], rows[c])
        for r in range(5):
            if r + c > 0:
                energy[r, c] = absolute_sum(rows[c], LAWS[r]) / (SIDE * SIDE)
    k = 0
    for r in range(5):
        for c in range(r, 5):
            if c > 0:
                out[k] = 0.5 * (energy[r, c] + energy[c, r])
                k += 1


@kernel
def filters_of_patches(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    step: float,
    out: NDArray[np.float64],
) -> None:
    """46 features a candidate: Gabor 32, Laws 14."""
    patch = np.empty((CUT, CUT), np.float32)
    level1 = np.empty((CUT - 4, CUT - 4), np.float32)
    level2 = np.empty((CUT - 12, CUT - 12), np.float32)
    level3 = np.empty((CUT - 28, CUT - 28), np.float32)
    level4 = np.empty((SIDE, SIDE), np.float32)
    samples = np.empty((SIDE + 2 * GABOR_HALF) ** 2, np.float32)
    carrier = np.empty((5, GABOR_TAPS), np.float32)
    gabor_taps(4.0, carrier)
    for k in range(row.size):
        cut_patch(pixels, row[k], column[k], step, patch)
        approximate(patch, level1, level2, level3, level4)
        answer = out[k]
        for scale in range(4):
            half = ((SIDE // 2) >> scale) + GABOR_HALF
            part = samples[: (2 * half + 1) ** 2].reshape(2 * half + 1, 2 * half + 1)
            source = patch if scale == 0 else level1 if scale == 1 else level2 if scale == 2 else level3
            sample_centred(source, 1 << scale, half, part)
            gabor_magnitudes(part, carrier, answer[8 * scale : 8 * scale + 8])
        laws_energies(patch, answer[32:])
