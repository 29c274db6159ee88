"""Magnitudes of Gabor filters at four wavelengths and directions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._channels import approximate
from overread.features.context._context import Context
from overread.features.context._patches import CUT, SIDE

# The filter of 4 points is used on approximations 0 to 3, sampled every 1, 2, 4 and 8 points.
WAVE = 4
N_SCALES = 4
ANGLES = (0, 45, 90, 135)
STATISTICS = {"mean": "mean", "sd": "standard deviation"}
WORDS = {"mean": "mean strength", "sd": "unevenness"}
# Taps reach 2.5 standard deviations of the bell, which has WAVE / 2.
GABOR_HALF = 5
GABOR_TAPS = 2 * GABOR_HALF + 1


def list_features() -> Iterator[Feature]:
    """Yield mean and standard deviation of each magnitude."""
    for wave in (WAVE << scale for scale in range(N_SCALES)):
        for angle in ANGLES:
            for name, statistic in STATISTICS.items():
                yield Feature(
                    name=f"gabor_{name}.w{wave}.a{angle}",
                    kind="texture",
                    family="gabor",
                    unit="grey",
                    formula=f"{statistic} of |x * exp(-r^2 / (2 s^2)) (exp(2 pi i u / {wave}) - c)|, u along "
                    f"{angle} degrees (counter-clockwise), s = {wave // 2}, c: no response to a constant",
                    reference="Manjunath, Ma 1996",
                    words=f"{WORDS[name]} of stripes with a period of {wave} pixels, at {angle} degrees",
                )


def _compute(context: Context) -> F32:
    """Magnitudes of each candidate, wavelength by wavelength."""
    out = np.zeros((len(context.row), N_SCALES, len(ANGLES), len(STATISTICS)))
    _describe_patches(context.patches, out)
    return to_columns(out)


@kernel
def _gabor_taps(wave: float, carrier: F32) -> None:
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
def _filter_rows(source: F32, taps: F32, out: F32) -> None:
    """Weighted sum of `GABOR_TAPS` neighbours of each row. The fixed number unrolls.

    One loop over all points in memory: what it puts at the end of a row, from neighbours in the next, means nothing.
    """
    points, filtered = source.ravel(), out.ravel()
    for i in range(np.uintp(points.size - 2 * GABOR_HALF)):
        total = np.float32(0.0)
        for t in range(np.uintp(GABOR_TAPS)):
            total += taps[t] * points[i + t]
        filtered[i] = total


@kernel
def _filter_columns(source: F32, taps: F32, out: F32) -> None:
    """Weighted sum of `GABOR_TAPS` neighbours of each column, row after row of the square that is left.

    Rows run one point too far, see `PADDED`; the next row overwrites it, and ``out`` has room for the last.
    """
    side = np.uintp(source.shape[0] - 2 * GABOR_HALF)
    for y in range(side):
        for x in range(side + np.uintp(1)):
            total = np.float32(0.0)
            for t in range(np.uintp(GABOR_TAPS)):
                total += taps[t] * source[y + t, x]
            out[y * side + x] = total


@kernel
def _summarize_magnitude(even: F32, odd: F32, plain: F32, bias: float) -> tuple[float, float]:
    """Mean and standard deviation of |even - bias plain + i odd|, but at the last point, which is padding."""
    total = square = 0.0
    b = np.float32(bias)
    n = even.size - 1
    for i in range(n):
        e = even[i] - b * plain[i]
        power = e * e + odd[i] * odd[i]
        total += float(np.sqrt(power))
        square += float(power)
    mean = total / n
    return mean, math.sqrt(max(0.0, square / n - mean * mean))


@kernel
def _turn(a: F32, b: F32) -> None:
    """Replace a and b by a + b and a - b."""
    for i in range(a.size):
        total = a[i] + b[i]
        b[i] = a[i] - b[i]
        a[i] = total


@kernel
def _gabor_magnitudes(samples: F32, carrier: F32, out: F64) -> None:
    """Mean and standard deviation of the magnitude of 4 Gabor filters on samples, in the order of `ANGLES`.

    An isotropic Gabor filter is separable: its diagonal directions are sums of products of 1D filters. The
    response to a constant, which the sampled cosine leaves, is subtracted.
    """
    side = samples.shape[0] - 2 * GABOR_HALF
    # One set of filtered rows at a time: it stays in the nearest cache while its columns are filtered.
    rows = np.zeros(samples.shape, np.float32)
    plain = np.empty(side * side + 1, np.float32)
    part = np.empty((4, side * side + 1), np.float32)
    straight = carrier[1].sum()
    diagonal = carrier[3].sum() ** 2
    _filter_rows(samples, carrier[0], rows)
    _filter_columns(rows, carrier[0], plain)
    _filter_columns(rows, carrier[1], part[0])
    _filter_columns(rows, carrier[2], part[1])
    out[2, 0], out[2, 1] = _summarize_magnitude(part[0], part[1], plain, straight)
    for c in range(2):
        _filter_rows(samples, carrier[1 + c], rows)
        _filter_columns(rows, carrier[0], part[c])
    out[0, 0], out[0, 1] = _summarize_magnitude(part[0], part[1], plain, straight)
    _filter_rows(samples, carrier[3], rows)
    _filter_columns(rows, carrier[3], part[0])
    _filter_columns(rows, carrier[4], part[2])
    _filter_rows(samples, carrier[4], rows)
    _filter_columns(rows, carrier[4], part[1])
    _filter_columns(rows, carrier[3], part[3])
    # Rows are counted downwards: the direction that rises to the right has opposite signs.
    _turn(part[0], part[1])
    _turn(part[3], part[2])
    out[1, 0], out[1, 1] = _summarize_magnitude(part[0], part[2], plain, diagonal)
    out[3, 0], out[3, 1] = _summarize_magnitude(part[1], part[3], plain, diagonal)


@kernel
def _sample_centred(source: F32, stride: int, half: int, samples: F32) -> None:
    """Every stride-th pixel around the middle, 2 half + 1 of them a side, replicated beyond the source."""
    middle = source.shape[0] // 2
    reach = middle // stride
    for i in range(2 * half + 1):
        y = middle + stride * min(max(i - half, -reach), reach)
        for j in range(2 * half + 1):
            x = middle + stride * min(max(j - half, -reach), reach)
            samples[i, j] = source[y, x]


@kernel
def _describe_patches(patches: F32, out: F64) -> None:
    """Fill the magnitudes of each patch: (patch, scale, direction, statistic)."""
    level1 = np.empty((CUT - 4, CUT - 4), np.float32)
    level2 = np.empty((CUT - 12, CUT - 12), np.float32)
    level3 = np.empty((CUT - 28, CUT - 28), np.float32)
    level4 = np.empty((SIDE, SIDE), np.float32)
    samples = np.empty((SIDE + 2 * GABOR_HALF) ** 2, np.float32)
    carrier = np.empty((5, GABOR_TAPS), np.float32)
    _gabor_taps(float(WAVE), carrier)
    for k in range(len(patches)):
        approximate(patches[k], level1, level2, level3, level4)
        for scale in range(N_SCALES):
            half = ((SIDE // 2) >> scale) + GABOR_HALF
            part = samples[: (2 * half + 1) ** 2].reshape(2 * half + 1, 2 * half + 1)
            source = patches[k] if scale == 0 else level1 if scale == 1 else level2 if scale == 2 else level3
            _sample_centred(source, 1 << scale, half, part)
            _gabor_magnitudes(part, carrier, out[k, scale])


FAMILY = Family(tuple(list_features()), _compute)
