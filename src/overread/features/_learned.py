"""What the learned network looks at: the radiograph at three resolutions, without its trend and of unit deviation.

At a resolution of q mm the radiograph is averaged to pixels of q mm; its blur by 10 q is taken away, and what is left
is divided by its own deviation, averaged by a Gaussian of 20 q. So a nodule of 6 mm at the finest resolution looks like
one of 24 mm at the coarsest, and brightness and contrast of the whole image do not count.

The learned network: three convolutions that all bands share, then a layer of units that sees every band.

A band of 28 x 28 points goes through

    convolution 5 x 5, maximum with 0, maximum of 2 x 2      -> 12 x 12
    convolution 3 x 3, maximum with 0, maximum of 2 x 2      ->  5 x  5
    convolution 3 x 3, maximum with 0                        ->  3 x  3

and the 3 x 3 answers of all channels and bands go to the units, each the positive part of a weighted sum. The units are
the features; what the network makes of them in the end is the last column. Arrays end with the channels. A sum of
products is taken in the order of a loop, not by a library, so that threads and versions do not change the features.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import cv2
import numpy as np

from overread._kernel import kernel
from overread.features._arrays import F32, F64

# The grid of `overread.images`, twice and four times coarser: squares of 20, 39 and 78 mm.
RESOLUTIONS_MM = (0.7, 1.4, 2.8)
SIDE = 28
# Widths of the trend and of the deviation, in pixels of the band. Set by judgement: a third and two thirds of a square.
TREND_PX = 10.0
DEVIATION_PX = 20.0
# Wide blurs use a copy that is smaller by these factors.
SHRINK = 4
# Deviations below it are that of a flat image, in units of the normalized radiograph. Set by judgement.
FLOOR = 1e-3
# Beyond this many deviations there is metal or the border of the film. Set by judgement.
LARGEST = 8.0


@dataclass(frozen=True, eq=False)
class Band:
    """The radiograph at one resolution, in deviations."""

    values: F32
    rows_per_pixel: float  # of the band, for one row of the radiograph
    columns_per_pixel: float


def make_bands(grey: F32, mm_per_px: float) -> tuple[Band, ...]:
    """Make the bands of a radiograph's grey levels, finest first."""
    return tuple(_make_band(grey, mm_per_px / resolution) for resolution in RESOLUTIONS_MM)


def _make_band(grey: F32, pixels_per_pixel: float) -> Band:
    """Make one band, whose pixels are smaller than those of the radiograph by this factor."""
    shape = tuple(max(2, round(n * pixels_per_pixel)) for n in grey.shape)
    small = _resize(grey, (shape[0], shape[1]))
    detail = small - _blur_widely(small, TREND_PX)
    deviation = np.sqrt(np.maximum(_blur_widely(detail * detail, DEVIATION_PX), 0.0)) + np.float32(FLOOR)
    values = np.clip(detail / deviation, -LARGEST, LARGEST).astype(np.float32)
    return Band(values, shape[0] / grey.shape[0], shape[1] / grey.shape[1])


def _resize(image: F32, shape: tuple[int, int]) -> F32:
    """Average where the image shrinks, interpolate where it grows."""
    way = cv2.INTER_AREA if shape[0] <= image.shape[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, shape[::-1], interpolation=way))


def _blur_widely(image: F32, sigma_px: float) -> F32:
    """Convolve with a Gaussian, on a smaller copy of the image."""
    rows, columns = (max(2, round(n / SHRINK)) for n in image.shape)
    small = _resize(image, (rows, columns))
    sigma = sigma_px / SHRINK
    size = 2 * math.ceil(3.0 * sigma) + 1
    small = cv2.GaussianBlur(small, (size, size), sigma, borderType=cv2.BORDER_REPLICATE)
    return _resize(np.asarray(small), (image.shape[0], image.shape[1]))


def cut_squares(bands: tuple[Band, ...], column: F64, row: F64) -> F32:
    """Cut the squares around positions of the radiograph: (place, band, SIDE, SIDE)."""
    squares = np.empty((row.size, len(bands), SIDE, SIDE), np.float32)
    for number, band in enumerate(bands):
        rows = (row + 0.5) * band.rows_per_pixel - 0.5
        columns = (column + 0.5) * band.columns_per_pixel - 0.5
        _sample_squares(band.values, rows, columns, squares[:, number])
    return squares


@kernel
def _sample_squares(values: F32, row: F64, column: F64, squares: F32) -> None:
    """Sample a square of points one pixel apart, centred on each place, bilinear, replicated outside."""
    rows, columns = values.shape
    side = squares.shape[1]
    for k in range(row.size):
        for i in range(side):
            y = min(max(row[k] + i - (side - 1) / 2.0, 0.0), rows - 1.0)
            upper = values[int(y)]
            lower = values[min(int(y) + 1, rows - 1)]
            down = np.float32(y - int(y))
            for j in range(side):
                x = min(max(column[k] + j - (side - 1) / 2.0, 0.0), columns - 1.0)
                x0 = int(x)
                x1 = min(x0 + 1, columns - 1)
                along = np.float32(x - x0)
                above = upper[x0] + along * (upper[x1] - upper[x0])
                below = lower[x0] + along * (lower[x1] - lower[x0])
                squares[k, i, j] = above + down * (below - above)


WEIGHTS = "weights.npz"
# How the shipped weights came about (docs/explanation/learned.md); a test holds both together.
TRAINED_ON = (
    "nodules that Overread's own simulator put into 200 NIH radiographs without finding, with the share of its "
    "simulated readers who would mark each as the label"
)


@dataclass(frozen=True, eq=False)
class LearnedNetwork:
    """Weights of the network: three convolutions, the units on them, and the network's own score."""

    kernels: tuple[F32, F32, F32]  # (side, side, channels in, channels out)
    offsets: tuple[F32, F32, F32]
    unit_weights: F32  # (band, row, column, channel, unit)
    unit_offsets: F32
    score_weights: F32
    score_offset: float

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> LearnedNetwork:
        """Make it of stored arrays of any precision."""
        values = {name: np.ascontiguousarray(arrays[name], dtype=np.float32) for name in arrays}
        return cls(
            (values["kernel_1"], values["kernel_2"], values["kernel_3"]),
            (values["offset_1"], values["offset_2"], values["offset_3"]),
            values["unit_weights"],
            values["unit_offsets"],
            values["score_weights"],
            float(arrays["score_offset"]),
        )

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.unit_offsets)

    def answer(self, squares: F32) -> F32:
        """Answer of every unit to what `cut_squares` gives, and the score (log-odds) as the last column."""
        units = _measure_units(
            np.ascontiguousarray(squares, np.float32),
            *self.kernels,
            *self.offsets,
            self.unit_weights,
            self.unit_offsets,
        )
        # Not a matrix product: BLAS rounds a row otherwise beside other rows, and no candidate depends on others.
        score = (units * self.score_weights).sum(axis=1) + np.float32(self.score_offset)
        return np.concatenate([units, score[:, None]], axis=1)


@cache
def load_network() -> LearnedNetwork:
    """Load the weights shipped with the package; `benchmarks.train_learned` makes them again."""
    with (files(__package__) / WEIGHTS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return LearnedNetwork.from_arrays(dict(stored))


@kernel
def _add_products(values: F32, weights: F32, total: F32) -> None:
    """Add values times weights (value, output) to the total; four values at once, which halves the time."""
    whole = values.size - values.size % 4
    for k in range(0, whole, 4):
        v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for o in range(total.size):
            total[o] += v0 * w0[o] + v1 * w1[o] + v2 * w2[o] + v3 * w3[o]
    for k in range(whole, values.size):
        value, row = values[k], weights[k]
        for o in range(total.size):
            total[o] += value * row[o]


@kernel
def _add_products_of_four(values: F32, first: int, step: int, weights: F32, totals: F32) -> None:
    """Add products to the totals of four neighbours at once: a weight is loaded once, which halves the time."""
    t0, t1, t2, t3 = totals[0], totals[1], totals[2], totals[3]
    for k in range(weights.shape[0]):
        v0, v1 = values[first + k], values[first + step + k]
        v2, v3 = values[first + 2 * step + k], values[first + 3 * step + k]
        row = weights[k]
        for o in range(t0.size):
            t0[o] += v0 * row[o]
            t1[o] += v1 * row[o]
            t2[o] += v2 * row[o]
            t3[o] += v3 * row[o]


@kernel
def _convolve(image: F32, weights: F32, offset: F32, out: F32) -> None:
    """Convolve without margin and take the maximum with 0; the image is (row, column x channel)."""
    side, _, channels, n_out = weights.shape
    by_row = weights.reshape(side, side * channels, n_out)
    width = out.shape[1]
    for y in range(out.shape[0]):
        for x in range(width):
            for o in range(n_out):
                out[y, x, o] = offset[o]
        for dy in range(side):
            for x in range(0, width - 3, 4):
                _add_products_of_four(image[y + dy], x * channels, channels, by_row[dy], out[y, x : x + 4])
            for x in range(width - width % 4, width):
                _add_products(image[y + dy, x * channels : (x + side) * channels], by_row[dy], out[y, x])
        for x in range(width):
            for o in range(n_out):
                out[y, x, o] = max(out[y, x, o], np.float32(0.0))


@kernel
def pool(image: F32, out: F32) -> None:
    """Maximum of 2 x 2; an odd last row or column is left out."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for o in range(out.shape[2]):
                upper = max(image[2 * y, 2 * x, o], image[2 * y, 2 * x + 1, o])
                lower = max(image[2 * y + 1, 2 * x, o], image[2 * y + 1, 2 * x + 1, o])
                out[y, x, o] = max(upper, lower)


@kernel
def _measure_units(
    squares: F32,
    kernel_1: F32,
    kernel_2: F32,
    kernel_3: F32,
    offset_1: F32,
    offset_2: F32,
    offset_3: F32,
    unit_weights: F32,
    unit_offsets: F32,
) -> F32:
    """Positive part of every unit's weighted sum: (place, unit)."""
    n_places, n_bands, side, _ = squares.shape
    size_1 = side - kernel_1.shape[0] + 1
    half_1 = size_1 // 2
    size_2 = half_1 - kernel_2.shape[0] + 1
    half_2 = size_2 // 2
    size_3 = half_2 - kernel_3.shape[0] + 1
    first = np.empty((size_1, size_1, offset_1.size), np.float32)
    first_half = np.empty((half_1, half_1, offset_1.size), np.float32)
    second = np.empty((size_2, size_2, offset_2.size), np.float32)
    second_half = np.empty((half_2, half_2, offset_2.size), np.float32)
    third = np.empty((size_3, size_3, offset_3.size), np.float32)
    out = np.empty((n_places, unit_offsets.size), np.float32)
    for place in range(n_places):
        units = out[place]
        for u in range(units.size):
            units[u] = unit_offsets[u]
        for band in range(n_bands):
            _convolve(squares[place, band], kernel_1, offset_1, first)
            pool(first, first_half)
            _convolve(first_half.reshape(half_1, -1), kernel_2, offset_2, second)
            pool(second, second_half)
            _convolve(second_half.reshape(half_2, -1), kernel_3, offset_3, third)
            _add_products(third.reshape(-1), unit_weights[band].reshape(third.size, units.size), units)
        for u in range(units.size):
            units[u] = max(units[u], np.float32(0.0))
    return out
