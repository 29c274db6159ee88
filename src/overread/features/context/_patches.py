"""The patch around a candidate: what is fixed, and why.

A patch is 63 x 63 points, 0.7 mm apart (44 mm), around the pixel nearest to the candidate; on the default grid
the points are the pixels. The side is odd, so that a mirrored image gives the mirrored patch. It holds a nodule
of 30 mm with its surroundings, and pairs of pixels up to 24 points (17 mm) apart. Filters see a margin of 30
points more. Outside the image the nearest pixel is repeated. Values beyond +-1e6 are clipped: the 1st and 99th
percentile of a radiograph are 0 and 1.

Grey levels around candidates without the trend of their surround.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, Mask
from overread.features.context._rays import RAYS, RHO
from overread.images import GRID_MM, Radiograph

SIDE = 63
# Loops over a row run one point further, into the margin: 64 points are whole vectors of the processor, while 63 would
# leave up to 31 of them to be computed one by one. What the last point gives is not used.
PADDED = SIDE + 1
# What four approximations lose, 2 (1 + 2 + 4 + 8) points on each side.
MARGIN = 30
CUT = SIDE + 2 * MARGIN
LARGEST = 1e6


def cut_patches(radiograph: Radiograph, column: F64, row: F64) -> F32:
    """Cut the patch around each place, with its margin: (place, CUT, CUT)."""
    patches = np.empty((row.size, CUT, CUT), np.float32)
    pixels = np.ascontiguousarray(radiograph.pixels, np.float32)
    _cut_into(pixels, row, column, _points_per_pixel(radiograph), patches)
    return patches


def _points_per_pixel(radiograph: Radiograph) -> float:
    """Give the distance of neighbouring points of a patch in pixels of the radiograph; 1 on the default grid."""
    step = GRID_MM / radiograph.mm_per_px
    return 1.0 if abs(step - 1.0) < 1e-9 else step


@kernel
def _copy_clipped(line: F32, start: int, out: F32) -> None:
    """Copy a part of a row, values beyond `LARGEST` clipped."""
    low, high, first = np.float32(-LARGEST), np.float32(LARGEST), np.uintp(start)
    for j in range(np.uintp(out.size)):
        out[j] = min(max(line[j + first], low), high)


@kernel
def _cut_patch(pixels: F32, row: float, column: float, step: float, patch: F32) -> None:
    """Sample a square of points ``step`` pixels apart around the nearest pixel, bilinear, replicated outside."""
    rows, columns = pixels.shape
    side = patch.shape[0]
    half = side // 2
    top = math.floor(row + 0.5)
    left = math.floor(column + 0.5)
    if step == 1.0:
        # Columns from first up to last are on the image.
        first = min(max(half - left, 0), side - 1)
        last = max(min(columns - left + half, side), first + 1)
        for i in range(side):
            line = pixels[min(max(top + i - half, 0), rows - 1)]
            _copy_clipped(line, max(left + first - half, 0), patch[i, first:last])
            patch[i, :first] = patch[i, first]
            patch[i, last:] = patch[i, last - 1]
        return
    for i in range(side):
        y = min(max(top + (i - half) * step, 0.0), rows - 1.0)
        upper = pixels[int(y)]
        lower = pixels[min(int(y) + 1, rows - 1)]
        down = y - int(y)
        for j in range(side):
            x = min(max(left + (j - half) * step, 0.0), columns - 1.0)
            x0 = int(x)
            x1 = min(x0 + 1, columns - 1)
            above = upper[x0] + (x - x0) * (upper[x1] - upper[x0])
            below = lower[x0] + (x - x0) * (lower[x1] - lower[x0])
            patch[i, j] = min(max(above + down * (below - above), -LARGEST), LARGEST)


@kernel
def _cut_into(pixels: F32, row: F64, column: F64, step: float, patches: F32) -> None:
    """Cut the patch around each place."""
    for k in range(row.size):
        _cut_patch(pixels, row[k], column[k], step, patches[k])


@kernel
def copy_centre(source: F32, out: F32) -> None:
    """Copy the middle of a square."""
    edge = np.uintp((source.shape[0] - out.shape[0]) // 2)
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            out[y, x] = source[y + edge, x + edge]


# The trend is fitted on the ring from just outside the outline to 2.5 R. Set by judgement.
RING_START = 1.15
RING_END = 2.5
# Below this share of the ring inside the lungs the whole ring is used. Set by judgement.
SHARE_IN_LUNG = 0.3
# Keeps the fit of the trend unique on any ring, far below what a ring's points add.
RIDGE = 1e-3
# Below one grey step of 8-bit images, 1 / 256.
NOISE_FLOOR = 0.003


@dataclass(frozen=True, eq=False)
class Trend:
    """Grey levels on rays with the surround's quadratic trend taken off, and the deviation of the detrended ring."""

    detrended: F32
    noise: F64

    @cached_property
    def noise_scale(self) -> F64:
        """Noise that contrasts are divided by, never 0."""
        return np.sqrt(self.noise**2 + NOISE_FLOOR**2)


def ring_around(ray_radius: F64, in_lung: Mask) -> F32:
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


def fit_trend(grey: F32, ring: F32) -> Trend:
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


def _quadratic_basis() -> F64:
    """1, x, y, x^2, xy, y^2 at the points on rays, in units of R: (point, 6)."""
    x, y = RAYS[:, :1] * RHO, RAYS[:, 1:] * RHO
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1).reshape(-1, 6)


BASIS = _quadratic_basis()
BASIS_PRODUCTS = np.ascontiguousarray((BASIS[:, :, None] * BASIS[:, None, :]).transpose(1, 0, 2))
