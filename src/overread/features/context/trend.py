"""Grey levels around candidates without the trend of their surround."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.features.context.rays import RAYS, RHO

__all__ = ["Trend", "fit_trend", "ring_around"]

# The trend is fitted on the ring from just outside the outline to 2.5 R. Chosen by eye.
RING_START = 1.15
RING_END = 2.5
# Below this share of the ring inside the lungs the whole ring is used. Chosen by eye.
SHARE_IN_LUNG = 0.3
# Keeps the fit of the trend unique on any ring, far below what a ring's points add.
RIDGE = 1e-3
# Below one grey step of 8-bit images, 1 / 256.
NOISE_FLOOR = 0.003


@dataclass(frozen=True, eq=False)
class Trend:
    """Grey levels with the surround's quadratic trend taken off.

    Parameters
    ----------
    detrended
        Grey level minus the trend, on rays.
    noise
        Standard deviation of the detrended ring.
    """

    detrended: NDArray[np.float32]
    noise: NDArray[np.float64]

    @cached_property
    def noise_scale(self) -> NDArray[np.float64]:
        """Noise that contrasts are divided by, never 0."""
        return np.sqrt(self.noise**2 + NOISE_FLOOR**2)


def ring_around(ray_radius: NDArray[np.float64], in_lung: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Weight the points of the ring around each outline by area, others 0: (candidate, angle, radius).

    Only the ring's part inside the lungs counts, if that is at least 30 % of it.
    """
    area = RHO.astype(np.float32)
    start = RING_START * ray_radius[:, :, None]
    ring = ((start < RHO) & (RHO < RING_END)) * area
    inside = ring * in_lung
    enough = inside.sum(axis=(1, 2)) >= SHARE_IN_LUNG * ring.sum(axis=(1, 2))
    ring[enough] = inside[enough]
    return ring


def fit_trend(grey: NDArray[np.float32], ring: NDArray[np.float32]) -> Trend:
    """Fit a + bx + cy + dx^2 + exy + fy^2 to the ring by weighted least squares, and take it off everywhere."""
    n = grey.shape[0]
    weights = ring.reshape(n, -1).astype(np.float64)
    total = weights.sum(axis=1, keepdims=True)
    values = grey.reshape(n, -1).astype(np.float64)
    values -= (weights * values).sum(axis=1, keepdims=True) / total
    gram = np.stack([weights @ BASIS_PRODUCTS[i] for i in range(6)], axis=1) + RIDGE * np.eye(6)
    coefficients = np.linalg.solve(gram, ((weights * values) @ BASIS)[:, :, None])[:, :, 0]
    detrended = values - coefficients @ BASIS.T
    noise = np.sqrt((weights * detrended**2).sum(axis=1) / total[:, 0])
    return Trend(detrended.reshape(grey.shape).astype(np.float32), noise)


def quadratic_basis() -> NDArray[np.float64]:
    """1, x, y, x^2, xy, y^2 at the points on rays, in units of R: (point, 6)."""
    x, y = RAYS[:, :1] * RHO, RAYS[:, 1:] * RHO
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1).reshape(-1, 6)


BASIS = quadratic_basis()
BASIS_PRODUCTS = np.ascontiguousarray((BASIS[:, :, None] * BASIS[:, None, :]).transpose(1, 0, 2))
