"""The power law of a patch's spectrum."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread._kernel import kernel
from overread.features._arrays import F32, F64
from overread.features._family import Family, Feature, to_columns
from overread.features.context._context import Context
from overread.features.context._patches import SIDE, copy_centre
from overread.images import GRID_MM

FFT_SIDE = 64
# Rings of the spectrum that are fitted: the first ones hold the window, the last ones corners only.
FIRST_RING = 2
N_RINGS = 30
# Added to what a logarithm is taken of; grey levels run from about 0 to 1.
POWER_FLOOR = 1e-12
REFERENCE = "Burgess, Jacobson, Judy 2001; Båth et al. 2005"
FEATURES = tuple(
    Feature(f"power_law_{name}", "texture", "power_law", "1", formula, REFERENCE, words)
    for name, formula, words in (
        ("exponent", f"b of P(f) = c f^-b, least squares in log-log over {N_RINGS} radial bins",
         "how much coarse texture prevails over fine texture"),
        ("level", "log10 of c f^-b at f = 0.1 cycles/mm", "amount of texture at a scale of about 1 cm"),
        ("residual", "root mean square of log10 P(f) - log10 c f^-b", "how much some sizes stand out in the texture"),
    )
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Power law of each candidate's patch."""
    out = np.zeros((len(context.row), len(FEATURES)))
    _describe_patches(context.patches, 1.0 / GRID_MM, out)
    return to_columns(out)


@kernel
def _transform_columns(real: F64, imaginary: F64, cosine: F64, sine: F64) -> None:
    """Radix-2 Fourier transform of every column of a 64-row array, in place."""
    n, width = real.shape
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            for x in range(width):
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
                for x in range(width):
                    turned = c * real[lower, x] + s * imaginary[lower, x]
                    other = c * imaginary[lower, x] - s * real[lower, x]
                    real[lower, x] = real[upper, x] - turned
                    imaginary[lower, x] = imaginary[upper, x] - other
                    real[upper, x] += turned
                    imaginary[upper, x] += other
        length *= 2


@kernel
def fit_line(x: F64, y: F64, out: F64) -> None:
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
def _find_rings(rings: NDArray[np.int64], counts: F64) -> None:
    """Give each frequency (across, down) its ring, and each ring the number of its frequencies.

    Of frequencies down only those from 0 to half are kept: the others have the same power as their opposites.
    """
    n = FFT_SIDE
    counts[:] = 0.0
    for x in range(n):
        u = x if x < n // 2 else x - n
        for v in range(rings.shape[1]):
            rings[x, v] = int(math.sqrt(float(u * u + v * v)) + 0.5)
            counts[rings[x, v]] += 1.0 if v in (0, n // 2) else 2.0


@kernel
def power_law(
    source: F32,
    cycles_per_mm: float,
    waves: tuple[F64, F64, F64],
    rings: NDArray[np.int64],
    counts: F64,
    out: F64,
) -> None:
    """Exponent, level at 0.1 cycles/mm and residual of the power law that fits the radial power spectrum."""
    n = FFT_SIDE
    cosine, sine, window = waves
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
    _transform_columns(real, imaginary, cosine, sine)
    real = real[: rings.shape[1]].T.copy()
    imaginary = imaginary[: rings.shape[1]].T.copy()
    _transform_columns(real, imaginary, cosine, sine)
    power = np.zeros(n)
    for x in range(n):
        for v in range(rings.shape[1]):
            both = 1.0 if v in (0, n // 2) else 2.0
            power[rings[x, v]] += both * (real[x, v] ** 2 + imaginary[x, v] ** 2)
    log_frequency = np.empty(N_RINGS)
    log_power = np.empty(N_RINGS)
    for k in range(N_RINGS):
        ring = k + FIRST_RING
        log_frequency[k] = math.log10(ring * cycles_per_mm / n)
        log_power[k] = math.log10(power[ring] / counts[ring] + POWER_FLOOR)
    found = np.empty(3)
    fit_line(log_frequency, log_power, found)
    out[0] = -found[0]
    out[1] = found[1] - found[0]
    out[2] = found[2]


@kernel
def _describe_patches(patches: F32, cycles_per_mm: float, out: F64) -> None:
    """Fill exponent, level and residual of each patch."""
    n = FFT_SIDE
    cosine = np.cos(2.0 * np.pi * np.arange(n // 2) / n)
    sine = np.sin(2.0 * np.pi * np.arange(n // 2) / n)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(SIDE) + 1.0) / (SIDE + 1.0))
    rings, counts = np.empty((n, n // 2 + 1), np.int64), np.empty(n)
    _find_rings(rings, counts)
    source = np.empty((SIDE, SIDE), np.float32)
    for k in range(len(patches)):
        copy_centre(patches[k], source)
        power_law(source, cycles_per_mm, (cosine, sine, window), rings, counts, out[k])


FAMILY = Family(FEATURES, _compute)
