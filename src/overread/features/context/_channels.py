"""Channels of a patch: wavelet approximations and details, a band and the gradient, with levels and statistics.

The undecimated transform filters with (1 4 6 4 1) / 16; a cut patch has a margin, so that filters see the real
surroundings of the patch that is measured. All loops run over one candidate at a time: an answer does not depend on the
other candidates of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64, U16
from overread.features.context._patches import CUT, SIDE, copy_centre
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES, first_order
from overread.features.ibsi._levels import quantize_into

APPROXIMATIONS = tuple(f"approximation{level}" for level in (1, 2, 3))
DETAILS = tuple(f"wavelet{level}_{band}" for level in (1, 2, 3) for band in ("hl", "lh", "hh"))
# Those with levels come first.
QUANTIZED = ("original", *APPROXIMATIONS, *DETAILS)
CHANNELS = (*QUANTIZED, "band4", "gradient")

FIRST_DETAIL, BAND = CHANNELS.index("wavelet1_hl"), CHANNELS.index("band4")

# Description of each channel; for a detail, its level and band.
CHANNEL_WORDS = {
    "original": "in the image",
    "gradient": "in the map of edge strength",
    "band4": "in very coarse structures",
    "approximation1": "in the slightly smoothed image",
    "approximation2": "in the smoothed image",
    "approximation3": "in the strongly smoothed image",
}
COARSENESS = {"1": "fine", "2": "medium", "3": "coarse"}
STROKES = {"hl": "vertical", "lh": "horizontal", "hh": "diagonal"}

# Set by judgement: 3969 points fill the 136 cells of a symmetric matrix of 16 levels.
N_BINS = 16
# From an array: a literal number would be compiled for on its own.
HOLES = np.array([1, 2, 4, 8])
P10, P90 = (list(RANKED_SHARES).index(share) for share in (0.1, 0.9))
MINIMUM, MAXIMUM = (list(FIRST_ORDER).index(name) for name in ("minimum", "maximum"))


def say_channel(channel: str) -> str:
    """Name a channel in words: the image, a smoothed image, or structures of a size and direction."""
    if channel in CHANNEL_WORDS:
        return CHANNEL_WORDS[channel]
    level, band = channel.removeprefix("wavelet").split("_")
    return f"in {COARSENESS[level]}, {STROKES[band]} structures"


@dataclass(frozen=True, eq=False)
class Channels:
    """What is known of the channels of each patch."""

    levels: U16  # 1 to N_BINS with a border of 0: (candidate, QUANTIZED, row, column)
    statistics: F64  # (candidate, CHANNELS, FIRST_ORDER)
    percentiles: F64  # (candidate, channel, RANKED_SHARES)


def measure_channels(patches: F32) -> Channels:
    """Measure the channels of cut patches."""
    n = len(patches)
    levels = np.zeros((n, len(QUANTIZED), SIDE + 2, SIDE + 2), np.uint16)
    statistics = np.zeros((n, len(CHANNELS), len(FIRST_ORDER)))
    percentiles = np.zeros((n, len(CHANNELS), RANKED_SHARES.size))
    _measure_into(patches, levels, statistics, percentiles)
    return Channels(levels, statistics, percentiles)


@kernel
def smooth(source: F32, hole: int, out: F32) -> None:
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
def approximate(patch: F32, level1: F32, level2: F32, level3: F32, level4: F32) -> None:
    """Undecimated approximations of a cut patch; each loses the points whose taps would leave the one before."""
    smooth(patch, HOLES[0], level1)
    smooth(level1, HOLES[1], level2)
    smooth(level2, HOLES[2], level3)
    smooth(level3, HOLES[3], level4)


@kernel
def _split_details(finer: F32, coarser: F32, hole: int, high_low: F32, low_high: F32, high_high: F32) -> None:
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
def _band_and_gradient(level3: F32, level4: F32, level1: F32, band: F32, gradient: F32) -> None:
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
def _fill_channels(patch: F32, level1: F32, level2: F32, level3: F32, level4: F32, channels: F32) -> None:
    """Fill the channels of a cut patch, in the order of `CHANNELS`."""
    approximate(patch, level1, level2, level3, level4)
    original, approximations, details = channels[0], channels[1:FIRST_DETAIL], channels[FIRST_DETAIL:BAND]
    copy_centre(patch, original)
    copy_centre(level1, approximations[0])
    copy_centre(level2, approximations[1])
    copy_centre(level3, approximations[2])
    _split_details(patch, level1, HOLES[0], details[0], details[1], details[2])
    _split_details(level1, level2, HOLES[1], details[3], details[4], details[5])
    _split_details(level2, level3, HOLES[2], details[6], details[7], details[8])
    _band_and_gradient(approximations[2], level4, level1, channels[BAND], channels[BAND + 1])


@kernel
def _measure_into(patches: F32, levels: U16, statistics: F64, percentiles: F64) -> None:
    """First order of each channel, then its levels: equal bins from P10 - (P90 - P10) / 2 to P90 + (P90 - P10) / 2.

    What lies beyond falls into the first and last bin; where P10 = P90 the bins lie between the extremes.
    """
    level1 = np.empty((CUT - 4, CUT - 4), np.float32)
    level2 = np.empty((CUT - 12, CUT - 12), np.float32)
    level3 = np.empty((CUT - 28, CUT - 28), np.float32)
    level4 = np.empty((SIDE, SIDE), np.float32)
    channels = np.empty((statistics.shape[1], SIDE, SIDE), np.float32)
    whole = np.ones((SIDE, SIDE), np.bool_)
    for k in range(len(patches)):
        _fill_channels(patches[k], level1, level2, level3, level4, channels)
        for c in range(statistics.shape[1]):
            found = percentiles[k, c]
            first_order(channels[c].ravel(), found, statistics[k, c])
            if c < levels.shape[1]:
                reach = 0.5 * (found[P90] - found[P10])
                low, high = found[P10] - reach, found[P90] + reach
                if reach == 0.0:
                    low, high = statistics[k, c, MINIMUM], statistics[k, c, MAXIMUM]
                quantize_into(channels[c], whole, low, high, N_BINS, levels[k, c])
