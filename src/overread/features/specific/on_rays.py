"""Means over points on rays, by area, angle or radius.

Sums run in float32, whose rounding is far below the grey levels' own noise; their results are float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.features.specific.measurements import PER_RADIUS, RHO

__all__ = ["angle_mean", "area_mean", "band_mean", "opposite_min", "sector_means"]

AREA = RHO.astype(np.float32)


def angle_mean(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Mean over all directions: (candidate, radius)."""
    return values.mean(axis=1).astype(np.float64)


def area_mean(values: NDArray[np.float32], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean over the area of chosen points; 0 where there are none."""
    weights = where * AREA
    total = weights.sum(axis=(1, 2)).astype(np.float64)
    return np.einsum("nkj,nkj->n", values, weights) / np.maximum(total, RHO[0])


def band_mean(values: NDArray[np.float32], start: float, end: float) -> NDArray[np.float64]:
    """Mean along each ray between two radii, by area: (candidate, angle)."""
    band = slice(round(start * PER_RADIUS), round(end * PER_RADIUS))
    return np.einsum("nkj,j->nk", values[:, :, band], AREA[band] / AREA[band].sum()).astype(np.float64)


def sector_means(rays: NDArray[np.float64], *, half: int) -> NDArray[np.float64]:
    """Mean over the rays around each direction, ``half`` to either side."""
    wide = np.concatenate([rays[:, -half:], rays, rays[:, :half]], axis=1)
    sums = np.cumsum(np.concatenate([np.zeros((len(rays), 1)), wide], axis=1), axis=1)
    return (sums[:, 2 * half + 1 :] - sums[:, : -2 * half - 1]) / (2 * half + 1)


def opposite_min(rays: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smallest mean over two opposite rays: what is left in the direction of a line through the candidate."""
    half = rays.shape[1] // 2
    return ((rays[:, :half] + rays[:, half:]) / 2.0).min(axis=1)
