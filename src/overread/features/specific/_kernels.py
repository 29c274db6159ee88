"""Compiled sampling around candidates, and shape of their outlines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overread.candidates._outlines import sample
from overread.kernel import kernel

__all__ = [
    "angle_sums",
    "fraction_under_minimum",
    "nearest_distance",
    "outline_at",
    "polar_first",
    "polar_grey",
    "polar_mask",
    "polar_second",
    "ray_lengths",
    "shape_numbers",
]

SHAPE_NUMBERS = 15


@kernel
def polar_grey(
    image: NDArray[np.float32],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    rays: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Grey levels on rays, each a row (dx, dy), around each place: (place, ray, radius)."""
    out = np.empty((column.size, rays.shape[0], rho.size), dtype=np.float32)
    for c in range(column.size):
        for k in range(rays.shape[0]):
            for j in range(rho.size):
                r = rho[j] * radius[c]
                out[c, k, j] = sample(image, column[c] + rays[k, 0] * r, row[c] + rays[k, 1] * r)
    return out


@kernel
def polar_first(
    image: NDArray[np.float32],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    rays: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
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
    image: NDArray[np.float32],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    rays: NDArray[np.float64],
    step: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
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
def polar_mask(
    mask: NDArray[np.bool_],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    rays: NDArray[np.float64],
) -> NDArray[np.bool_]:
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
def outline_at(
    outline: NDArray[np.bool_],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    rays: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Outlines at points on rays around their candidates."""
    out = np.empty((column.size, rays.shape[0], rho.size), dtype=np.bool_)
    half = outline.shape[1] // 2
    for c in range(column.size):
        x = column[c : c + 1] - np.floor(column[c] + 0.5) + half
        y = row[c : c + 1] - np.floor(row[c] + 0.5) + half
        out[c] = polar_mask(outline[c], x, y, radius[c : c + 1], rho, rays)[0]
    return out


@kernel
def ray_lengths(
    outline: NDArray[np.bool_],
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
    rays: NDArray[np.float64],
    step: float,
) -> NDArray[np.float64]:
    """Length of each ray inside its outline, counted in steps, in units of the radius; at least one step."""
    out = np.empty((column.size, rays.shape[0]))
    side = outline.shape[1]
    half = side // 2
    for c in range(column.size):
        x = column[c] - np.floor(column[c] + 0.5) + half + 0.5
        y = row[c] - np.floor(row[c] + 0.5) + half + 0.5
        for k in range(rays.shape[0]):
            count = 0
            dx, dy = rays[k, 0] * radius[c] * step, rays[k, 1] * radius[c] * step
            for t in range(int(2.0 / step)):
                j = int(x + dx * (t + 0.5))
                i = int(y + dy * (t + 0.5))
                if 0 <= i < side and 0 <= j < side and outline[c, i, j]:
                    count += 1
            out[c, k] = max(count, 1) * step
    return out


@kernel
def angle_sums(
    along: NDArray[np.float32],
    across: NDArray[np.float32],
    ray_radius: NDArray[np.float64],
    rho: NDArray[np.float64],
    borders: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum gradient times area over zones: |g| in 12 bins of phi, then |along| and |across|.

    Bin b < 6 holds phi from 30 b to 30 (b + 1) degrees, bin 11 - b the same below 0. A zone reaches from one border
    to the next, in units of the outline's radius along the ray.
    """
    out = np.zeros((along.shape[0], borders.size - 1, 14))
    tops = np.cos(np.arange(1, 6) * np.pi / 6.0)
    for c in range(along.shape[0]):
        for k in range(along.shape[1]):
            zone = 0
            for j in range(along.shape[2]):
                while zone < borders.size - 1 and rho[j] >= borders[zone + 1] * ray_radius[c, k]:
                    zone += 1
                if zone == borders.size - 1:
                    break
                inwards, sideways = -along[c, k, j], across[c, k, j]
                magnitude = np.sqrt(inwards * inwards + sideways * sideways)
                b = 0
                for top in tops:
                    b += int(inwards < top * magnitude)
                if sideways < 0.0:
                    b = 11 - b
                out[c, zone, b] += magnitude * rho[j]
                out[c, zone, 12] += abs(inwards) * rho[j]
                out[c, zone, 13] += abs(sideways) * rho[j]
    return out


@kernel
def fraction_under_minimum(
    grey: NDArray[np.float32], rho: NDArray[np.float64], inner: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Share of a ring's area darker than the darkest point of the disc inside it: (candidate, inner radius)."""
    out = np.empty((grey.shape[0], inner.size))
    n_angles = grey.shape[1]
    for c in range(grey.shape[0]):
        for a in range(inner.size):
            darkest = np.float32(np.inf)
            for k in range(n_angles):
                for j in range(inner[a]):
                    darkest = min(darkest, grey[c, k, j])
            under = 0.0
            total = 0.0
            for j in range(inner[a], inner[a] + width):
                count = 0
                for k in range(n_angles):
                    if grey[c, k, j] < darkest:
                        count += 1
                under += count * rho[j]
                total += n_angles * rho[j]
            out[c, a] = under / total
    return out


@kernel
def nearest_distance(
    points: NDArray[np.float64], column: NDArray[np.float64], row: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Distance from each place to the nearest of the points; infinite without points."""
    out = np.empty(column.size)
    for c in range(column.size):
        best = np.inf
        for p in range(points.shape[1]):
            dx = points[0, p] - column[c]
            dy = points[1, p] - row[c]
            best = min(best, dx * dx + dy * dy)
        out[c] = np.sqrt(best)
    return out


@kernel
def central_moments(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Area, centroid and central moments m20 m11 m02 m30 m21 m12 m03 of a mask, in pixels."""
    area, sx, sy = 0.0, 0.0, 0.0
    rows, columns = mask.shape
    for i in range(rows):
        for j in range(columns):
            if mask[i, j]:
                area += 1.0
                sx += j
                sy += i
    cx, cy = sx / area, sy / area
    out = np.zeros(10)
    out[0], out[1], out[2] = area, cx, cy
    for i in range(rows):
        for j in range(columns):
            if mask[i, j]:
                x, y = j - cx, i - cy
                out[3] += x * x
                out[4] += x * y
                out[5] += y * y
                out[6] += x * x * x
                out[7] += x * x * y
                out[8] += x * y * y
                out[9] += y * y * y
    return out


@kernel
def crofton_perimeter(mask: NDArray[np.bool_]) -> float:
    """Perimeter from the numbers of crossings of lines in four directions (Crofton's formula), in pixels."""
    rows, columns = mask.shape
    straight, diagonal = 0, 0
    for i in range(-1, rows):
        for j in range(-1, columns):
            here = i >= 0 and j >= 0 and mask[i, j]
            right = i >= 0 and j + 1 < columns and mask[i, j + 1]
            below = j >= 0 and i + 1 < rows and mask[i + 1, j]
            corner = i + 1 < rows and j + 1 < columns and mask[i + 1, j + 1]
            straight += int(here != right) + int(here != below)
            diagonal += int(here != corner) + int(right != below)
    return np.pi / 8.0 * (straight + diagonal / np.sqrt(2.0))


@kernel
def push(hull: NDArray[np.float64], n: int, start: int, x: float, y: float) -> int:
    """Add a corner to a chain, dropping those before it that would make it turn the wrong way."""
    while n - start >= 2:
        ax, ay = hull[n - 1, 0] - hull[n - 2, 0], hull[n - 1, 1] - hull[n - 2, 1]
        bx, by = x - hull[n - 1, 0], y - hull[n - 1, 1]
        if ax * by - ay * bx > 0.0:
            break
        n -= 1
    hull[n, 0], hull[n, 1] = x, y
    return n + 1


@kernel
def convex_hull(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Corners of the convex hull of the midpoints of the pixels' sides (corner, xy), by Andrew's chain."""
    rows, columns = mask.shape
    top = np.full(2 * columns + 1, np.inf)
    bottom = np.full(2 * columns + 1, -np.inf)
    for i in range(rows):
        for j in range(columns):
            if mask[i, j]:
                top[2 * j + 1] = min(top[2 * j + 1], i - 0.5)
                bottom[2 * j + 1] = max(bottom[2 * j + 1], i + 0.5)
                for side in (2 * j, 2 * j + 2):
                    top[side] = min(top[side], float(i))
                    bottom[side] = max(bottom[side], float(i))
    hull = np.empty((4 * columns + 4, 2))
    n = 0
    for h in range(2 * columns + 1):
        if top[h] <= bottom[h]:
            n = push(hull, n, 0, 0.5 * (h - 1), top[h])
    start = n - 1
    for h in range(2 * columns, -1, -1):
        if top[h] <= bottom[h]:
            n = push(hull, n, start, 0.5 * (h - 1), bottom[h])
    return hull[:n].copy()


@kernel
def hull_numbers(hull: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Area, perimeter, largest and smallest width of a convex polygon."""
    n = hull.shape[0]
    area, perimeter, longest, narrowest = 0.0, 0.0, 0.0, np.inf
    for a in range(n):
        b = (a + 1) % n
        ex, ey = hull[b, 0] - hull[a, 0], hull[b, 1] - hull[a, 1]
        length = np.sqrt(ex * ex + ey * ey)
        area += 0.5 * (hull[a, 0] * hull[b, 1] - hull[b, 0] * hull[a, 1])
        perimeter += length
        width = 0.0
        for p in range(n):
            dx, dy = hull[p, 0] - hull[a, 0], hull[p, 1] - hull[a, 1]
            longest = max(longest, dx * dx + dy * dy)
            if length > 0.0:
                width = max(width, abs(ex * dy - ey * dx) / length)
        if length > 0.0:
            narrowest = min(narrowest, width)
    return abs(area), perimeter, np.sqrt(longest), narrowest


@kernel
def cropped(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Part of a mask that holds all its pixels; outlines contain the row and column of their middle."""
    half = mask.shape[0] // 2
    reach = half
    while reach > 0:
        for p in range(mask.shape[0]):
            low, high = half - reach, half + reach
            if mask[low, p] or mask[high, p] or mask[p, low] or mask[p, high]:
                return np.ascontiguousarray(mask[low : high + 1, low : high + 1])
        reach -= 1
    return np.ascontiguousarray(mask[half : half + 1, half : half + 1])


@kernel
def shape_numbers(outline: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Ten moments, Crofton perimeter, and area, perimeter, largest and smallest width of the hull; in pixels."""
    out = np.empty((outline.shape[0], SHAPE_NUMBERS))
    for c in range(outline.shape[0]):
        mask = cropped(outline[c])
        out[c, :10] = central_moments(mask)
        out[c, 1] += (outline.shape[1] - mask.shape[1]) // 2
        out[c, 2] += (outline.shape[1] - mask.shape[0]) // 2
        out[c, 10] = crofton_perimeter(mask)
        area, perimeter, longest, narrowest = hull_numbers(convex_hull(mask))
        out[c, 11], out[c, 12], out[c, 13], out[c, 14] = area, perimeter, longest, narrowest
    return out
