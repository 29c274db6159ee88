"""Compiled work on the patches of candidates: cutting, wavelets, matrices, filters, spectra.

A cut patch has a margin, so that filters see the real surroundings of the patch that is measured. All loops run
over one candidate at a time: an answer does not depend on the other candidates of the batch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from overread.features.texture._kernels import (
    count_pairs,
    first_order,
    fold_pairs,
    glcm_from_fold,
    matrix_features,
    n_log_n_table,
    quantize_into,
)
from overread.kernel import kernel

SIDE = 63
MARGIN = 30
CUT = SIDE + 2 * MARGIN
N_BINS = 16
LARGEST = 1e6
N_CHANNELS = 15
N_QUANTIZED = 13
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
    for i in range(side):
        y = min(max(top + (i - half) * step, 0.0), rows - 1.0)
        y0 = int(y)
        y1 = min(y0 + 1, rows - 1)
        fy = y - y0
        for j in range(side):
            x = min(max(left + (j - half) * step, 0.0), columns - 1.0)
            x0 = int(x)
            x1 = min(x0 + 1, columns - 1)
            fx = x - x0
            upper = pixels[y0, x0] + fx * (pixels[y0, x1] - pixels[y0, x0])
            lower = pixels[y1, x0] + fx * (pixels[y1, x1] - pixels[y1, x0])
            patch[i, j] = min(max(upper + fy * (lower - upper), -LARGEST), LARGEST)


@kernel
def smooth_rows(source: NDArray[np.float32], hole: int, out: NDArray[np.float32]) -> None:
    """Filter along each row with (1 4 6 4 1) / 16, taps ``hole`` pixels apart; out is 4 holes narrower."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            ends = source[y, x] + source[y, x + 4 * hole]
            middle = source[y, x + hole] + source[y, x + 3 * hole]
            out[y, x] = np.float32(0.0625) * (ends + np.float32(6.0) * source[y, x + 2 * hole]) + (
                np.float32(0.25) * middle
            )


@kernel
def smooth_columns(source: NDArray[np.float32], hole: int, out: NDArray[np.float32]) -> None:
    """Filter along each column with (1 4 6 4 1) / 16, taps ``hole`` pixels apart; out is 4 holes lower."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            ends = source[y, x] + source[y + 4 * hole, x]
            middle = source[y + hole, x] + source[y + 3 * hole, x]
            out[y, x] = np.float32(0.0625) * (ends + np.float32(6.0) * source[y + 2 * hole, x]) + (
                np.float32(0.25) * middle
            )


@kernel
def approximate(
    patch: NDArray[np.float32],
    level1: NDArray[np.float32],
    level2: NDArray[np.float32],
    level3: NDArray[np.float32],
    level4: NDArray[np.float32],
) -> None:
    """Undecimated approximations of a cut patch; each loses the pixels whose taps would leave the one before."""
    rows = np.empty((CUT, CUT), np.float32)
    smooth_rows(patch, 1, rows[:CUT, : CUT - 4])
    smooth_columns(rows[:CUT, : CUT - 4], 1, level1)
    smooth_rows(level1, 2, rows[: CUT - 4, : CUT - 12])
    smooth_columns(rows[: CUT - 4, : CUT - 12], 2, level2)
    smooth_rows(level2, 4, rows[: CUT - 12, : CUT - 28])
    smooth_columns(rows[: CUT - 12, : CUT - 28], 4, level3)
    smooth_rows(level3, 8, rows[: CUT - 28, :SIDE])
    smooth_columns(rows[: CUT - 28, :SIDE], 8, level4)


@kernel
def centre(source: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """View of the middle of a square array."""
    edge = (source.shape[0] - side) // 2
    return source[edge : edge + side, edge : edge + side]


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
    middle = centre(finer, SIDE)
    rough = centre(coarser, SIDE)
    along = np.empty((SIDE, SIDE), np.float32)
    across = np.empty((SIDE, SIDE), np.float32)
    edge = (finer.shape[0] - SIDE) // 2
    smooth_rows(finer[edge : edge + SIDE, edge - 2 * hole : edge + SIDE + 2 * hole], hole, along)
    smooth_columns(finer[edge - 2 * hole : edge + SIDE + 2 * hole, edge : edge + SIDE], hole, across)
    for y in range(SIDE):
        for x in range(SIDE):
            high_low[y, x] = across[y, x] - rough[y, x]
            low_high[y, x] = along[y, x] - rough[y, x]
            high_high[y, x] = middle[y, x] - along[y, x] - across[y, x] + rough[y, x]


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
    channels[0] = centre(patch, SIDE)
    channels[1] = centre(level1, SIDE)
    channels[2] = centre(level2, SIDE)
    channels[3] = centre(level3, SIDE)
    split_details(patch, level1, 1, channels[4], channels[5], channels[6])
    split_details(level1, level2, 2, channels[7], channels[8], channels[9])
    split_details(level2, level3, 4, channels[10], channels[11], channels[12])
    smooth = centre(level1, SIDE + 2)
    for y in range(SIDE):
        for x in range(SIDE):
            channels[13, y, x] = channels[3, y, x] - level4[y, x]
            right = smooth[y + 1, x + 2] - smooth[y + 1, x]
            down = smooth[y + 2, x + 1] - smooth[y, x + 1]
            channels[14, y, x] = np.float32(0.5) * math.sqrt(right * right + down * down)


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
    pairs: NDArray[np.int32],
    mean: NDArray[np.float64],
    spread: NDArray[np.float64],
) -> None:
    """Mean and range over 4 directions of Haralick's 13 features at one distance."""
    differences = np.zeros(N_BINS + 1, np.int64)
    sums = np.zeros(2 * N_BINS + 1, np.int64)
    margin = np.zeros(N_BINS + 1, np.int64)
    folded = np.zeros(4)
    found = np.zeros((4, 25))
    directions = np.array([[0, 1], [1, 1], [1, 0], [1, -1]])
    for k in range(4):
        count_pairs(levels, distance * directions[k, 0], distance * directions[k, 1], pairs)
        fold_pairs(pairs, N_BINS, table, differences, sums, margin, folded)
        glcm_from_fold(N_BINS, table, differences, sums, margin, folded, found[k])
    for f in range(13):
        a, b = found[0, HARALICK[f]], found[1, HARALICK[f]]
        c, d = found[2, HARALICK[f]], found[3, HARALICK[f]]
        # Opposite pairs first: a quarter turn swaps within them, and the sum keeps its bits.
        mean[f] = ((a + c) + (b + d)) / 4.0
        spread[f] = max(max(a, c), max(b, d)) - min(min(a, c), min(b, d))


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
    pairs = np.zeros((N_BINS + 1, N_BINS + 1), np.int32)
    table = n_log_n_table(2 * area + 1)
    unused = np.empty(13)
    texture = np.empty(79)
    families = np.array([False, True, True, True, True])
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
                levels[0],
                DISTANCES[d],
                table,
                pairs,
                answer[start : start + 13],
                answer[start + 13 : start + 26],
            )
        for level in range(3):
            for d in range(3):
                start = 156 + 39 * level + 13 * d
                distance = APPROXIMATION_STEPS[d] << (level + 1)
                haralick(levels[1 + level], distance, table, pairs, answer[start : start + 13], unused)
            for band in range(3):
                start = 273 + 39 * level + 13 * band
                detail = levels[4 + 3 * level + band]
                haralick(detail, 1 << level, table, pairs, answer[start : start + 13], unused)
        for c in range(4):
            matrix_features(levels[c], area, N_BINS, 1, table, families, texture)
            answer[660 + 54 * c : 714 + 54 * c] = texture[25:]


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
        top = int(math.floor(row[k] + 0.5))
        left = int(math.floor(column[k] + 0.5))
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
