"""What several families measure around each candidate, computed once.

Rays: 64 directions, 25 radii rho = 0.05, 0.15, ... 2.45 in units of the candidate's radius R. Arrays on rays have
the shape (candidate, angle, radius). A point at rho stands for an area in proportion to rho.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context
from overread.features.specific import _kernels
from overread.features.specific.maps import SCALES_MM, ImageMaps

__all__ = ["N_ANGLES", "RAYS", "RHO", "Measurements", "Outlines", "Trend", "measured", "rays"]

N_ANGLES = 64
PER_RADIUS = 10
# Step in which the outline's radius along a ray is counted, in R.
OUTLINE_STEP = 1.0 / 30.0
RHO = (np.arange(25) + 0.5) / PER_RADIUS


def rays(n_angles: int) -> NDArray[np.float64]:
    """Directions (dx, dy) all around, clockwise on screen from +x; exact where a quarter turn maps them on another."""
    quarter = 2.0 * np.pi * np.arange(n_angles // 4) / n_angles
    dx, dy = np.cos(quarter), np.sin(quarter)
    return np.stack([np.concatenate([dx, -dy, -dx, dy]), np.concatenate([dy, dx, -dy, -dx])], axis=1)


RAYS = rays(N_ANGLES)

# Second derivatives: coarser radii, differences over 1.4 mm.
SECOND_RHO = np.arange(1, 11) / 4.0
SECOND_STEP_MM = 1.4

# The trend is fitted on the ring from just outside the outline to 2.5 R.
RING_START = 1.15
RING_END = 2.5
# Below this share of the ring inside the lungs the whole ring is used.
SHARE_IN_LUNG = 0.3
# Keeps the fit of the trend unique on any ring, far below what a ring's points add.
RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Outlines:
    """Moments and hulls of the outlines, in pixels, and the radius of the outline along each ray, in R."""

    numbers: NDArray[np.float64]
    ray_radius: NDArray[np.float64]

    @property
    def area(self) -> NDArray[np.float64]:
        """Number of pixels."""
        return self.numbers[:, 0]

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Variances along the major and the minor axis, each with 1/12 for the pixel's own extent."""
        _, _, _, xx, xy, yy = self.numbers[:, :6].T / self.area
        middle = (xx + yy) / 2.0
        apart = np.sqrt(((xx - yy) / 2.0) ** 2 + xy**2)
        return np.maximum(np.stack([middle + apart, middle - apart], axis=1), 0.0) + 1.0 / 12.0

    @cached_property
    def elongation(self) -> NDArray[np.float64]:
        """1 - minor / major axis."""
        return 1.0 - np.sqrt(self.variances[:, 1] / self.variances[:, 0])

    @cached_property
    def direction(self) -> NDArray[np.float64]:
        """Direction of the major axis in radians, clockwise on screen from +x; 0 where all are alike."""
        return 0.5 * np.arctan2(2.0 * self.numbers[:, 4], self.numbers[:, 3] - self.numbers[:, 5])


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


@dataclass(frozen=True, eq=False)
class Measurements(Context):
    """A context with the maps of its radiograph and what families share."""

    maps: ImageMaps

    @property
    def n_candidates(self) -> int:
        """Number of candidates in this batch."""
        return int(self.column.size)

    @property
    def mm(self) -> float:
        """Side of a pixel."""
        return self.radiograph.mm_per_px

    @cached_property
    def grey(self) -> NDArray[np.float32]:
        """Grey level on rays, smoothed by 1 mm."""
        return _kernels.polar_grey(self.maps.base, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def fine_gradient(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Derivatives along and across the rays of the radiograph smoothed by 1 mm."""
        return _kernels.polar_first(self.maps.base, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def matched_gradient(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Derivatives along and across every other ray, smoothed by the largest of 1.6, 2.5, 4 mm up to R / 3."""
        scales = SCALES_MM[:3]
        radius_mm = self.radius_px * self.mm
        level = np.maximum(np.searchsorted(scales, radius_mm / 3.0, side="right") - 1, 0)
        shape = (self.n_candidates, N_ANGLES // 2, 2 * PER_RADIUS)
        along, across = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        for index in range(len(scales)):
            chosen = level == index
            if chosen.any():
                along[chosen], across[chosen] = _kernels.polar_first(
                    self.maps.scale_space[index],
                    self.column[chosen],
                    self.row[chosen],
                    self.radius_px[chosen],
                    RHO[: 2 * PER_RADIUS],
                    RAYS[::2],
                )
        return along, across

    @cached_property
    def curvature(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Second derivatives along, across and mixed, at 1 mm smoothing, per mm^2, at rho = 1/4 ... 10/4."""
        step = SECOND_STEP_MM / self.mm
        found = _kernels.polar_second(
            self.maps.base, self.column, self.row, self.radius_px, SECOND_RHO, RAYS, step
        )
        scale = np.float32(1.0 / self.mm**2)
        return found[0] * scale, found[1] * scale, found[2] * scale

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Whether a point on a ray is inside the outline."""
        return _kernels.outline_at(self.outline, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def in_lung(self) -> NDArray[np.bool_]:
        """Whether a point on a ray is inside a lung field."""
        return _kernels.polar_mask(self.maps.lungs, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def outlines(self) -> Outlines:
        """Shape of the outlines."""
        radius = _kernels.ray_lengths(self.outline, self.column, self.row, self.radius_px, RAYS, OUTLINE_STEP)
        return Outlines(_kernels.shape_numbers(self.outline), radius)

    @cached_property
    def trend(self) -> Trend:
        """Fit a + bx + cy + dx^2 + exy + fy^2 to the ring by least squares weighted by area.

        Only the ring's part inside the lungs counts, if that is at least 30 % of it.
        """
        area = RHO.astype(np.float32)
        start = RING_START * self.outlines.ray_radius[:, :, None]
        ring = ((start < RHO) & (RHO < RING_END)) * area
        in_lung = ring * self.in_lung
        enough = in_lung.sum(axis=(1, 2)) >= SHARE_IN_LUNG * ring.sum(axis=(1, 2))
        ring[enough] = in_lung[enough]
        return fitted_trend(self.grey, ring)


def fitted_trend(grey: NDArray[np.float32], ring: NDArray[np.float32]) -> Trend:
    """Take the weighted quadratic trend off."""
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


def measured(context: Context) -> Measurements:
    """Give the context with its measurements, made here if the caller has only a plain one."""
    if isinstance(context, Measurements):
        return context
    return Measurements(
        radiograph=context.radiograph,
        anatomy=context.anatomy,
        column=context.column,
        row=context.row,
        radius_px=context.radius_px,
        outline=context.outline,
        maps=ImageMaps(context.radiograph, context.anatomy),
    )
