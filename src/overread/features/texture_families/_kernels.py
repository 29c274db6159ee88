"""Compiled work on the patches of candidates: cutting, wavelets, matrices, filters, spectra.

A cut patch has a margin, so that filters see the real surroundings of the patch that is measured. All loops run
over one candidate at a time: an answer does not depend on the other candidates of the batch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture._kernels import region_features
from overread.features.texture.emphasis._kernels import n_log_n_table
from overread.features.texture.first_order._kernels import first_order
from overread.features.texture.glcm._kernels import average, pair_features
from overread.features.texture.levels._kernels import quantize_into
from overread.kernel import kernel

SIDE = 63
MARGIN = 30
CUT = SIDE + 2 * MARGIN
N_BINS = 16
LARGEST = 1e6
N_CHANNELS = 15
N_QUANTIZED = 13
# From an array: a literal number would be compiled for on its own.
HOLES = np.array([1, 2, 4, 8])
DISTANCES = np.array([1, 2, 4, 8, 16, 24])
APPROXIMATION_STEPS = np.array([1, 2, 4])
HARALICK = np.array([10, 11, 18, 2, 15, 7, 8, 9, 3, 5, 6, 23, 24])


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
        for i in range(side):
            line = pixels[min(max(top + i - half, 0), rows - 1)]
            for j in range(side):
                value = line[min(max(left + j - half, 0), columns - 1)]
                patch[i, j] = min(max(value, -LARGEST), LARGEST)
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
def smooth(source: NDArray[np.float32], hole: int, out: NDArray[np.float32]) -> None:
    """Filter rows, then columns, with (1 4 6 4 1) / 16, taps ``hole`` points apart; out is 4 holes smaller.

    Indices are unsigned here and below: without a test for negative ones the loops vectorize. Taps are paired, so
    that a mirrored patch gives the same bits.
    """
    rows = np.empty((source.shape[0], out.shape[1]), np.float32)
    h1, h2, h3, h4 = np.uintp(hole), np.uintp(2 * hole), np.uintp(3 * hole), np.uintp(4 * hole)
    end, middle, centre = np.float32(0.0625), np.float32(0.25), np.float32(0.375)
    for y in range(np.uintp(rows.shape[0])):
        for x in range(np.uintp(rows.shape[1])):
            rows[y, x] = end * (source[y, x] + source[y, x + h4]) + (
                middle * (source[y, x + h1] + source[y, x + h3]) + centre * source[y, x + h2]
            )
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            out[y, x] = end * (rows[y, x] + rows[y + h4, x]) + (
                middle * (rows[y + h1, x] + rows[y + h3, x]) + centre * rows[y + h2, x]
            )


@kernel
def approximate(
    patch: NDArray[np.float32],
    level1: NDArray[np.float32],
    level2: NDArray[np.float32],
    level3: NDArray[np.float32],
    level4: NDArray[np.float32],
) -> None:
    """Undecimated approximations of a cut patch; each loses the points whose taps would leave the one before."""
    smooth(patch, HOLES[0], level1)
    smooth(level1, HOLES[1], level2)
    smooth(level2, HOLES[2], level3)
    smooth(level3, HOLES[3], level4)


@kernel
def copy_centre(source: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """Copy the middle of a square."""
    edge = np.uintp((source.shape[0] - out.shape[0]) // 2)
    for y in range(np.uintp(out.shape[0])):
        for x in range(np.uintp(out.shape[1])):
            out[y, x] = source[y + edge, x + edge]


@kernel
def split_details(
    finer: NDArray[np.float32],
    coarser: NDArray[np.float32],
    hole: int,
    high_low: NDArray[np.float32],
    low_high: NDArray[np.float32],
    high_high: NDArray[np.float32],
) -> None:
    """Details between two approximations: high-pass is identity minus low-pass, so they sum to the difference."""
    e = np.uintp((finer.shape[0] - SIDE) // 2)
    f = np.uintp((coarser.shape[0] - SIDE) // 2)
    h = np.uintp(hole)
    d = np.uintp(2 * hole)
    end, middle, centre = np.float32(0.0625), np.float32(0.25), np.float32(0.375)
    for y in range(e, e + np.uintp(SIDE)):
        for x in range(e, e + np.uintp(SIDE)):
            v = finer[y, x]
            along = end * (finer[y, x - d] + finer[y, x + d]) + (
                middle * (finer[y, x - h] + finer[y, x + h]) + centre * v
            )
            across = end * (finer[y - d, x] + finer[y + d, x]) + (
                middle * (finer[y - h, x] + finer[y + h, x]) + centre * v
            )
            rough = coarser[y - e + f, x - e + f]
            high_low[y - e, x - e] = across - rough
            low_high[y - e, x - e] = along - rough
            high_high[y - e, x - e] = v - (along + across) + rough


@kernel
def fill_channels(
    patch: NDArray[np.float32],
    level1: NDArray[np.float32],
    level2: NDArray[np.float32],
    level3: NDArray[np.float32],
    level4: NDArray[np.float32],
    channels: NDArray[np.float32],
) -> None:
    """15 channels: original, approximations 1-3, details 1-3 x (hl, lh, hh), band 4, gradient."""
    approximate(patch, level1, level2, level3, level4)
    copy_centre(patch, channels[0])
    copy_centre(level1, channels[1])
    copy_centre(level2, channels[2])
    copy_centre(level3, channels[3])
    split_details(patch, level1, HOLES[0], channels[4], channels[5], channels[6])
    split_details(level1, level2, HOLES[1], channels[7], channels[8], channels[9])
    split_details(level2, level3, HOLES[2], channels[10], channels[11], channels[12])
    band_and_gradient(channels[3], level4, level1, channels[13], channels[14])


@kernel
def band_and_gradient(
    level3: NDArray[np.float32],
    level4: NDArray[np.float32],
    level1: NDArray[np.float32],
    band: NDArray[np.float32],
    gradient: NDArray[np.float32],
) -> None:
    """Approximation 3 minus 4, and the magnitude of central differences of approximation 1."""
    e = np.uintp((level1.shape[0] - SIDE) // 2)
    one = np.uintp(1)
    for y in range(np.uintp(SIDE)):
        for x in range(np.uintp(SIDE)):
            band[y, x] = level3[y, x] - level4[y, x]
            across = level1[y + e, x + e + one] - level1[y + e, x + e - one]
            down = level1[y + e + one, x + e] - level1[y + e - one, x + e]
            gradient[y, x] = np.float32(0.5) * np.sqrt(across * across + down * down)


@kernel
def bound_ratios(found: NDArray[np.float64], statistics: NDArray[np.float64]) -> None:
    """Replace the two ratios that have no bound where a channel's mean is near 0 by ones between 0 and 1."""
    deviation = math.sqrt(statistics[1])
    scale = abs(statistics[0]) + deviation
    statistics[14] = deviation / scale if scale > 0.0 else 0.0
    scale = abs(found[1]) + abs(found[3])
    statistics[15] = statistics[9] / scale if scale > 0.0 else 0.0


@kernel
def haralick(
    levels: NDArray[np.uint16],
    distance: int,
    table: NDArray[np.float64],
    mean: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> None:
    """Mean and range over 4 directions of Haralick's 13 features at one distance."""
    found = np.zeros((4, 25))
    chosen = np.zeros((4, 13))
    pair_features(levels, N_BINS, distance, table, found)
    for f in range(13):
        for direction in range(4):
            chosen[direction, f] = found[direction, HARALICK[f]]
        spread[f] = chosen[:, f].max() - chosen[:, f].min()
    average(chosen, mean)


@kernel
def matrices_of_patches(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    step: float,
    out: NDArray[np.float64],
) -> None:
    """876 features a candidate: GLCM 156 + 117 + 117, first order 270, runs, zones and neighbours 216."""
    patch = np.empty((CUT, CUT), np.float32)
    level1 = np.empty((CUT - 4, CUT - 4), np.float32)
    level2 = np.empty((CUT - 12, CUT - 12), np.float32)
    level3 = np.empty((CUT - 28, CUT - 28), np.float32)
    level4 = np.empty((SIDE, SIDE), np.float32)
    channels = np.empty((N_CHANNELS, SIDE, SIDE), np.float32)
    levels = np.zeros((N_QUANTIZED, SIDE + 2, SIDE + 2), np.uint16)
    whole = np.ones((SIDE, SIDE), np.bool_)
    area = SIDE * SIDE
    bucket = np.empty(area, np.uint16)
    pool = np.empty(area)
    found = np.empty(5)
    table = n_log_n_table(2 * area + 1)
    unused = np.empty(13)
    for k in range(row.size):
        cut_patch(pixels, row[k], column[k], step, patch)
        fill_channels(patch, level1, level2, level3, level4, channels)
        answer = out[k]
        for c in range(N_CHANNELS):
            statistics = answer[390 + 18 * c : 408 + 18 * c]
            first_order(channels[c].ravel(), bucket, pool, found, statistics)
            bound_ratios(found, statistics)
            if c < N_QUANTIZED:
                reach = 0.5 * (found[4] - found[0])
                low, high = found[0] - reach, found[4] + reach
                if reach == 0.0:
                    low, high = statistics[5], statistics[8]
                quantize_into(channels[c], whole, low, high, N_BINS, levels[c])
        for d in range(6):
            start = 26 * d
            haralick(
                levels[0], DISTANCES[d], table, answer[start : start + 13], answer[start + 13 : start + 26]
            )
        for level in range(3):
            for d in range(3):
                start = 156 + 39 * level + 13 * d
                distance = APPROXIMATION_STEPS[d] << (level + 1)
                haralick(levels[1 + level], distance, table, answer[start : start + 13], unused)
            for band in range(3):
                start = 273 + 39 * level + 13 * band
                detail = levels[4 + 3 * level + band]
                haralick(detail, 1 << level, table, answer[start : start + 13], unused)
        for c in range(4):
            region_features(levels[c], area, N_BINS, table, answer[660 + 54 * c : 714 + 54 * c])


@kernel
def inside_minus_ring(
    pixels: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    radius: NDArray[np.float64],
    outline: NDArray[np.bool_],
    out: NDArray[np.float64],
) -> None:
    """18 first-order statistics inside a candidate's outline minus those of the ring around it.

    The ring is the disc of twice the radius plus 2 pixels without the outline. An empty outline is replaced by
    the disc of the radius; where the ring is empty, the differences are 0.
    """
    rows, columns = pixels.shape
    side = outline.shape[1]
    longest = max(side, 2 * int(2.0 * radius.max() + 2.0) + 3) if radius.size else side
    inside = np.empty(longest * longest)
    ring = np.empty(longest * longest)
    bucket = np.empty(longest * longest, np.uint16)
    pool = np.empty(longest * longest)
    found = np.empty(5)
    statistics = np.empty((2, 18))
    for k in range(row.size):
        top = math.floor(row[k] + 0.5)
        left = math.floor(column[k] + 0.5)
        drawn = outline[k].any()
        far = 2.0 * radius[k] + 2.0
        reach = max(side // 2, int(far) + 1)
        n_inside = n_ring = 0
        for i in range(-reach, reach + 1):
            y = min(max(top + i, 0), rows - 1)
            for j in range(-reach, reach + 1):
                square = float(i * i + j * j)
                member = square <= radius[k] * radius[k]
                if drawn:
                    member = (
                        abs(i) <= side // 2
                        and abs(j) <= side // 2
                        and outline[k, i + side // 2, j + side // 2]
                    )
                value = min(max(pixels[y, min(max(left + j, 0), columns - 1)], -LARGEST), LARGEST)
                if member:
                    inside[n_inside] = value
                    n_inside += 1
                elif square <= far * far:
                    ring[n_ring] = value
                    n_ring += 1
        out[k, :] = 0.0
        if n_inside > 0 and n_ring > 0:
            first_order(inside[:n_inside], bucket, pool, found, statistics[0])
            bound_ratios(found, statistics[0])
            first_order(ring[:n_ring], bucket, pool, found, statistics[1])
            bound_ratios(found, statistics[1])
            statistics[0, 16] /= n_inside
            statistics[1, 16] /= n_ring
            for f in range(18):
                out[k, f] = statistics[0, f] - statistics[1, f]
