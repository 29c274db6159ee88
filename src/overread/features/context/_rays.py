"""Points on rays around candidates: positions, values of an image, and means.

64 directions, 25 radii rho = 0.05, 0.15, ... 2.45 in units of the candidate's radius R. Arrays on rays have the shape
(candidate, angle, radius). A point at rho stands for an area in proportion to rho. Sums over points run in float32,
whose rounding is far below the grey levels' own noise; their results are float64.
"""

from __future__ import annotations

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, Mask
from overread.features._outlines import sample

# Set by judgement: at 2.5 R of a nodule of 10 mm the points are 1.2 mm apart, less than two pixels.
N_ANGLES = 64
PER_RADIUS = 10
"""Steps along a ray for each radius of the candidate."""
RHO = (np.arange(25) + 0.5) / PER_RADIUS
"""Distances of the steps from the centre, in radii."""


def make_rays(n_angles: int) -> F64:
    """Give directions (dx, dy) all around, clockwise on screen from +x; a quarter turn maps them exactly."""
    quarter = 2.0 * np.pi * np.arange(n_angles // 4) / n_angles
    dx, dy = np.cos(quarter), np.sin(quarter)
    return np.stack([np.concatenate([dx, -dy, -dx, dy]), np.concatenate([dy, dx, -dy, -dx])], axis=1)


RAYS = make_rays(N_ANGLES)
"""Directions of the rays, as (x, y)."""
# The one direction to look in at a radius of 0.
CENTRE = np.array([[1.0, 0.0]])

# Second derivatives: coarser radii, differences over two pixels of the default grid.
SECOND_RHO = np.arange(1, 11) / 4.0
SECOND_STEP_MM = 1.4
"""Step of second derivatives, in mm: two pixels of the default grid."""
AREA = RHO.astype(np.float32)


@kernel
def polar_grey(image: F32, column: F64, row: F64, radius: F64, rho: F64, rays: F64) -> F32:
    """Grey levels on rays, each a row (dx, dy), around each place: (place, ray, radius)."""
    out = np.empty((column.size, rays.shape[0], rho.size), dtype=np.float32)
    for c in range(column.size):
        for k in range(rays.shape[0]):
            for j in range(rho.size):
                r = rho[j] * radius[c]
                out[c, k, j] = sample(image, column[c] + rays[k, 0] * r, row[c] + rays[k, 1] * r)
    return out


@kernel
def polar_first(image: F32, column: F64, row: F64, radius: F64, rho: F64, rays: F64) -> tuple[F32, F32]:
    """Differentiate along the ray and across it (towards growing angle), by differences over two pixels."""
    shape = (column.size, rays.shape[0], rho.size)
    along = np.empty(shape, dtype=np.float32)
    across = np.empty(shape, dtype=np.float32)
    for c in range(column.size):
        for k in range(rays.shape[0]):
            dx, dy = rays[k, 0], rays[k, 1]
            for j in range(rho.size):
                x = column[c] + dx * rho[j] * radius[c]
                y = row[c] + dy * rho[j] * radius[c]
                along[c, k, j] = 0.5 * (sample(image, x + dx, y + dy) - sample(image, x - dx, y - dy))
                across[c, k, j] = 0.5 * (sample(image, x - dy, y + dx) - sample(image, x + dy, y - dx))
    return along, across


@kernel
def polar_second(
    image: F32, column: F64, row: F64, radius: F64, rho: F64, rays: F64, step: float
) -> tuple[F32, F32, F32]:
    """Second derivatives on rays: along, across, mixed, by differences over the step; per pixel^2."""
    shape = (column.size, rays.shape[0], rho.size)
    along = np.empty(shape, dtype=np.float32)
    across = np.empty(shape, dtype=np.float32)
    mixed = np.empty(shape, dtype=np.float32)
    scale = 1.0 / (step * step)
    grid = np.empty((3, 3), dtype=np.float32)
    for c in range(column.size):
        for k in range(rays.shape[0]):
            dx, dy = rays[k, 0] * step, rays[k, 1] * step
            for j in range(rho.size):
                x = column[c] + rays[k, 0] * rho[j] * radius[c]
                y = row[c] + rays[k, 1] * rho[j] * radius[c]
                for p in range(3):
                    for q in range(3):
                        grid[p, q] = sample(
                            image, x + (p - 1) * dx - (q - 1) * dy, y + (p - 1) * dy + (q - 1) * dx
                        )
                along[c, k, j] = (grid[2, 1] - 2.0 * grid[1, 1] + grid[0, 1]) * scale
                across[c, k, j] = (grid[1, 2] - 2.0 * grid[1, 1] + grid[1, 0]) * scale
                mixed[c, k, j] = 0.25 * (grid[2, 2] + grid[0, 0] - grid[2, 0] - grid[0, 2]) * scale
    return along, across, mixed


@kernel
def polar_mask(mask: Mask, column: F64, row: F64, radius: F64, rho: F64, rays: F64) -> Mask:
    """Mask at the pixels nearest to points on rays; False beyond the image."""
    out = np.zeros((column.size, rays.shape[0], rho.size), dtype=np.bool_)
    rows, columns = mask.shape
    for c in range(column.size):
        for k in range(rays.shape[0]):
            for j in range(rho.size):
                r = rho[j] * radius[c]
                x = int(np.floor(column[c] + rays[k, 0] * r + 0.5))
                y = int(np.floor(row[c] + rays[k, 1] * r + 0.5))
                if 0 <= x < columns and 0 <= y < rows:
                    out[c, k, j] = mask[y, x]
    return out


@kernel
def outline_at(outline: Mask, column: F64, row: F64, radius: F64, rho: F64, rays: F64) -> Mask:
    """Outlines at points on rays around their candidates."""
    out = np.empty((column.size, rays.shape[0], rho.size), dtype=np.bool_)
    half = outline.shape[1] // 2
    for c in range(column.size):
        x = column[c : c + 1] - np.floor(column[c] + 0.5) + half
        y = row[c : c + 1] - np.floor(row[c] + 0.5) + half
        out[c] = polar_mask(outline[c], x, y, radius[c : c + 1], rho, rays)[0]
    return out


def angle_mean(values: F32) -> F64:
    """Mean over all directions: (candidate, radius)."""
    return values.mean(axis=1).astype(np.float64)


def area_mean(values: F32, where: Mask) -> F64:
    """Mean over the area of chosen points; 0 where there are none."""
    weights = where * AREA
    total = weights.sum(axis=(1, 2)).astype(np.float64)
    return np.einsum("nkj,nkj->n", values, weights) / np.maximum(total, RHO[0])


def band_mean(values: F32, start: float, end: float) -> F64:
    """Mean along each ray between two radii, by area: (candidate, angle)."""
    band = slice(round(start * PER_RADIUS), round(end * PER_RADIUS))
    return np.einsum("nkj,j->nk", values[:, :, band], AREA[band] / AREA[band].sum()).astype(np.float64)


def sector_means(rays: F64, *, half: int) -> F64:
    """Mean over the rays around each direction, ``half`` to either side."""
    wide = np.concatenate([rays[:, -half:], rays, rays[:, :half]], axis=1)
    sums = np.cumsum(np.concatenate([np.zeros((len(rays), 1)), wide], axis=1), axis=1)
    return (sums[:, 2 * half + 1 :] - sums[:, : -2 * half - 1]) / (2 * half + 1)


def opposite_min(rays: F64) -> F64:
    """Smallest mean over two opposite rays: what is left in the direction of a line through the candidate."""
    half = rays.shape[1] // 2
    return ((rays[:, :half] + rays[:, half:]) / 2.0).min(axis=1)


def principal_curvatures(
    level: F32, column: F64, row: F64, *, scale_px: float, directions: F64 = CENTRE, distance_px: float = 0.0
) -> tuple[F64, F64]:
    """Give k1 and k2, see family blob, on a circle around each point: (point, direction); at the point by default."""
    step = max(scale_px / 3.0, 1.0)
    found = polar_second(level, column, row, np.full(column.size, distance_px), np.ones(1), directions, step)
    along, across, mixed = (part[:, :, 0].astype(np.float64) * scale_px**2 for part in found)
    middle = -(along + across) / 2.0
    apart = np.sqrt(((along - across) / 2.0) ** 2 + mixed**2)
    return middle + apart, middle - apart
