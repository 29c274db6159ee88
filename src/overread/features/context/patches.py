"""The patch around a candidate: what is fixed, and why.

A patch is 63 x 63 points, 0.7 mm apart (44 mm), around the pixel nearest to the candidate; on the default grid
the points are the pixels. The side is odd, so that a mirrored image gives the mirrored patch. It holds a nodule
of 30 mm with its surroundings, and pairs of pixels up to 24 points (17 mm) apart. Filters see a margin of 30
points more. Outside the image the nearest pixel is repeated. Values beyond +-1e6 are clipped: the 1st and 99th
percentile of a radiograph are 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.images.radiograph import GRID_MM, Radiograph
from overread.kernel import kernel

__all__ = ["CUT", "LARGEST", "PADDED", "SIDE", "copy_centre", "cut_patches"]

SIDE = 63
# Loops over a row run one point further, into the margin: 64 points are whole vectors of the processor, while 63 would
# leave up to 31 of them to be computed one by one. What the last point gives is not used.
PADDED = SIDE + 1
# What four approximations lose, 2 (1 + 2 + 4 + 8) points on each side.
MARGIN = 30
CUT = SIDE + 2 * MARGIN
LARGEST = 1e6


def cut_patches(
    radiograph: Radiograph, column: NDArray[np.float64], row: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Cut the patch around each place, with its margin: (place, CUT, CUT)."""
    patches = np.empty((row.size, CUT, CUT), np.float32)
    pixels = np.ascontiguousarray(radiograph.pixels, np.float32)
    cut_into(pixels, row, column, points_per_pixel(radiograph), patches)
    return patches


def points_per_pixel(radiograph: Radiograph) -> float:
    """Give the distance of neighbouring points of a patch in pixels of the radiograph; 1 on the default grid."""
    step = GRID_MM / radiograph.mm_per_px
    return 1.0 if abs(step - 1.0) < 1e-9 else step


@kernel
def copy_clipped(line: NDArray[np.float32], start: int, out: NDArray[np.float32]) -> None:
    """Copy a part of a row, values beyond `LARGEST` clipped."""
    low, high, first = np.float32(-LARGEST), np.float32(LARGEST), np.uintp(start)
    for j in range(np.uintp(out.size)):
        out[j] = min(max(line[j + first], low), high)


@kernel
def cut_patch(
    pixels: NDArray[np.float32], row: float, column: float, step: float, patch: NDArray[np.float32]
) -> None:
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
            copy_clipped(line, max(left + first - half, 0), patch[i, first:last])
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
def cut_into(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    step: float,
    patches: NDArray[np.float32],
) -> None:
    """Cut the patch around each place."""
    for k in range(row.size):
        cut_patch(pixels, row[k], column[k], step, patches[k])


@kernel
def copy_centre(source: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Copy the middle of a square."""
    edge = np.uintp((source.shape[0] - out.shape[0]) // 2)
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            out[y, x] = source[y + edge, x + edge]
