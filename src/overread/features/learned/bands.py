"""What the learned network looks at: the radiograph at three resolutions, without its trend and of unit deviation.

At a resolution of q mm the radiograph is averaged to pixels of q mm; its blur by 10 q is taken away, and what is left
is divided by its own deviation, averaged by a Gaussian of 20 q. So a nodule of 6 mm at the finest resolution looks like
one of 24 mm at the coarsest, and brightness and contrast of the whole image do not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.kernel import kernel

__all__ = ["RESOLUTIONS_MM", "SIDE", "Band", "cut_squares", "make_bands"]

FloatMap = NDArray[np.float32]

# The grid of `overread.images`, twice and four times coarser: squares of 20, 39 and 78 mm.
RESOLUTIONS_MM = (0.7, 1.4, 2.8)
SIDE = 28
# Widths of the trend and of the deviation, in pixels of the band. Chosen by eye: a third and two thirds of a square.
TREND_PX = 10.0
DEVIATION_PX = 20.0
# Wide blurs are made on a copy so many times smaller.
SHRINK = 4
# Deviations below it are that of a flat image, in units of the normalized radiograph. Chosen by eye.
FLOOR = 1e-3
# Beyond so many deviations there is metal or the border of the film. Chosen by eye.
LARGEST = 8.0


@dataclass(frozen=True, eq=False)
class Band:
    """The radiograph at one resolution.

    Parameters
    ----------
    values
        Rows x columns, in deviations.
    rows_per_pixel, columns_per_pixel
        Rows and columns of the band for one of the radiograph.
    """

    values: FloatMap
    rows_per_pixel: float
    columns_per_pixel: float


def make_bands(grey: FloatMap, mm_per_px: float) -> tuple[Band, ...]:
    """Make the bands of a radiograph's grey levels, finest first."""
    return tuple(make_band(grey, mm_per_px / resolution) for resolution in RESOLUTIONS_MM)


def make_band(grey: FloatMap, pixels_per_pixel: float) -> Band:
    """Make one band, so many of whose pixels are one of the radiograph."""
    shape = tuple(max(2, round(n * pixels_per_pixel)) for n in grey.shape)
    small = resize(grey, (shape[0], shape[1]))
    detail = small - blur_widely(small, TREND_PX)
    deviation = np.sqrt(np.maximum(blur_widely(detail * detail, DEVIATION_PX), 0.0)) + np.float32(FLOOR)
    values = np.clip(detail / deviation, -LARGEST, LARGEST).astype(np.float32)
    return Band(values, shape[0] / grey.shape[0], shape[1] / grey.shape[1])


def resize(image: FloatMap, shape: tuple[int, int]) -> FloatMap:
    """Average where the image shrinks, interpolate where it grows."""
    way = cv2.INTER_AREA if shape[0] <= image.shape[0] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, shape[::-1], interpolation=way))


def blur_widely(image: FloatMap, sigma_px: float) -> FloatMap:
    """Convolve with a Gaussian, on a smaller copy of the image."""
    rows, columns = (max(2, round(n / SHRINK)) for n in image.shape)
    small = resize(image, (rows, columns))
    sigma = sigma_px / SHRINK
    size = 2 * math.ceil(3.0 * sigma) + 1
    small = cv2.GaussianBlur(small, (size, size), sigma, borderType=cv2.BORDER_REPLICATE)
    return resize(np.asarray(small), (image.shape[0], image.shape[1]))


def cut_squares(
    bands: tuple[Band, ...], column: NDArray[np.float64], row: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Cut the squares around places of the radiograph: (place, band, SIDE, SIDE)."""
    squares = np.empty((row.size, len(bands), SIDE, SIDE), np.float32)
    for number, band in enumerate(bands):
        rows = (row + 0.5) * band.rows_per_pixel - 0.5
        columns = (column + 0.5) * band.columns_per_pixel - 0.5
        sample_squares(band.values, rows, columns, squares[:, number])
    return squares


@kernel
def sample_squares(
    values: NDArray[np.float32],
    row: NDArray[np.float64],
    column: NDArray[np.float64],
    squares: NDArray[np.float32],
) -> None:
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
