"""What lies in rings around a place, in numbers that do not change when the image is turned about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from overread.candidates._kernels import sample_polar
from overread.candidates.curvature import Scale
from overread.candidates.pyramid import blur_reflecting

__all__ = ["N_DIRECTIONS", "N_SURROUNDINGS", "RADIUS_PER_SIGMA", "describe_surroundings", "sample_rings"]

FloatArray = NDArray[np.float64]

# Inputs of the shipped ranking: none may change without `benchmarks.train_ranking` run anew. No measurement behind them
# is on record.
N_DIRECTIONS = 16
RADIUS_PER_SIGMA = 2.4
RINGS = (0.15, 0.35, 0.55, 0.75, 0.95, 1.15, 1.4, 1.7, 2.1, 2.6)
OUTER = slice(4, 8)
N_HARMONICS = 6
PRESMOOTHING = 0.35
SPREAD_FLOOR = 0.004
TYPICAL_CONTRAST = 0.02
N_SURROUNDINGS = (2 + N_HARMONICS) * len(RINGS) + 1


def describe_surroundings(scale: Scale, column: NDArray[np.int64], row: NDArray[np.int64]) -> FloatArray:
    """Describe the surroundings of each place at its scale, `N_SURROUNDINGS` numbers each.

    The brightness is sampled in 16 directions on the rings t = `RINGS`, in units of 2.4 sigma. With m(t) its mean
    over directions, a_n(t) the size of its n-th harmonic, m and s mean and deviation of the rings from 0.95 to 1.7,
    these are (m(t) - m) / s and arcsinh((m(t) - m) / 0.02) for each ring, a_n(t) / s for n = 1..6, and log s.
    """
    level = scale.level
    sigma_px = scale.sigma_mm / level.mm_per_px
    image = blur_reflecting(level.image, PRESMOOTHING * sigma_px)
    samples = sample_rings(image, column, row, RINGS, sigma_px)
    waves = np.fft.rfft(samples, axis=1)[:, : N_HARMONICS + 1] / N_DIRECTIONS
    means = waves[:, 0].real
    contrast = means - means[:, OUTER].mean(axis=1, keepdims=True)
    spread = samples[:, :, OUTER].std(axis=(1, 2))[:, None] + SPREAD_FLOOR
    harmonics = np.abs(waves[:, 1:]).reshape(len(row), N_HARMONICS * len(RINGS))
    parts = contrast / spread, np.arcsinh(contrast / TYPICAL_CONTRAST), harmonics / spread, np.log(spread)
    return np.hstack(parts)


def sample_rings(
    image: NDArray[np.float32],
    column: NDArray[np.int64],
    row: NDArray[np.int64],
    rings: Sequence[float],
    sigma_px: float,
) -> FloatArray:
    """Sample the brightness around each place, places x directions x rings; rings in units of 2.4 sigma."""
    samples = np.empty((len(row), N_DIRECTIONS, len(rings)))
    reach = np.asarray(rings) * RADIUS_PER_SIGMA * sigma_px
    sample_polar(image, column.astype(np.float64), row.astype(np.float64), reach, samples)
    return samples
