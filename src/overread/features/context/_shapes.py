"""Moments, hulls and radii of the candidates' outlines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F64, Mask

# What is measured of each outline: pixels, centroid, central moments (xxy: sum of x^2 y), Crofton perimeter; area,
# perimeter, largest and smallest width of the convex hull.
NUMBERS = (
    "area", "column", "row", "xx", "xy", "yy", "xxx", "xxy", "xyy", "yyy", "perimeter",
    "hull_area", "hull_perimeter", "largest_width", "smallest_width",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Outlines:
    """Moments and hulls of the outlines, and their radii."""

    numbers: Mapping[str, F64]  # by names of NUMBERS, in pixels
    ray_radius: F64  # of the outline along each ray, in R: (candidate, angle)

    @property
    def area(self) -> F64:
        """Number of pixels."""
        return self.numbers["area"]

    @cached_property
    def variances(self) -> F64:
        """Variances along the major and the minor axis, each with 1/12 for the pixel's own extent."""
        xx, xy, yy = (self.numbers[name] / self.area for name in ("xx", "xy", "yy"))
        middle = (xx + yy) / 2.0
        apart = np.sqrt(((xx - yy) / 2.0) ** 2 + xy**2)
        return np.maximum(np.stack([middle + apart, middle - apart], axis=1), 0.0) + 1.0 / 12.0

    @cached_property
    def elongation(self) -> F64:
        """1 - minor / major axis."""
        return 1.0 - np.sqrt(self.variances[:, 1] / self.variances[:, 0])

    @cached_property
    def direction(self) -> F64:
        """Direction of the major axis in radians, clockwise on screen from +x; 0 where all are alike."""
        return 0.5 * np.arctan2(2.0 * self.numbers["xy"], self.numbers["xx"] - self.numbers["yy"])


def shape_numbers(outline: Mask) -> dict[str, F64]:
    """Measure each outline of a stack; all in pixels, by names of `NUMBERS`."""
    return dict(zip(NUMBERS, _measure_shapes(outline).T, strict=True))


@kernel
def _central_moments(mask: Mask) -> F64:
    """Area, centroid and central moments of a mask: the first ten of `NUMBERS`."""
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
def _crofton_perimeter(mask: Mask) -> float:
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
def _push(hull: F64, n: int, start: int, x: float, y: float) -> int:
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
def _convex_hull(mask: Mask) -> F64:
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
            n = _push(hull, n, 0, 0.5 * (h - 1), top[h])
    start = n - 1
    for h in range(2 * columns, -1, -1):
        if top[h] <= bottom[h]:
            n = _push(hull, n, start, 0.5 * (h - 1), bottom[h])
    return hull[:n].copy()


@kernel
def _hull_numbers(hull: F64) -> tuple[float, float, float, float]:
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
def _crop(mask: Mask) -> Mask:
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
def _measure_shapes(outline: Mask) -> F64:
    """Numbers of each outline in the order of `NUMBERS`: (candidate, number)."""
    out = np.empty((outline.shape[0], len(NUMBERS)))
    for c in range(outline.shape[0]):
        mask = _crop(outline[c])
        moments = _central_moments(mask)
        moments[1] += (outline.shape[1] - mask.shape[1]) // 2
        moments[2] += (outline.shape[1] - mask.shape[0]) // 2
        out[c, : moments.size] = moments
        out[c, moments.size] = _crofton_perimeter(mask)
        hull = _hull_numbers(_convex_hull(mask))
        for k in range(len(hull)):
            out[c, moments.size + 1 + k] = hull[k]
    return out


@kernel
def ray_lengths(outline: Mask, column: F64, row: F64, radius: F64, rays: F64, step: float) -> F64:
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
