"""What candidate finders share: their table, a pyramid, peaks of a map, and the radius of a candidate.

Large scales are computed on coarse levels of the pyramid, which is as good and far faster.

The radius is that of the disc which stands out most from the ring around it. With d(r) the mean of the disc of radius
r, m(r) and s(r) mean and deviation of the ring from 1.1 r to 1.8 r, the disc that maximizes (d - m) / (s + 0.01) is
sought. A nodule fades towards its border and drowns in what is around it, so its radius is larger than that of the
disc: `NODULE_PER_DISC` is the median ratio of 238 nodules of contrast to noise 1.2 to 3.4 inserted into real
radiographs; without noise it is nearer to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import cv2
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.domains._kernels import sample_polar
from overread.features import Map, Mask
from overread.images import blur

FloatArray = NDArray[np.float64]

# Micrometres: far below a pixel.
LENGTH_DIGITS = 3
RESPONSE_DIGITS = 6


def candidate_table(x: FloatArray, y: FloatArray, radius: FloatArray, response: FloatArray) -> pd.DataFrame:
    """Make the table of one image's candidates, numbered in the order in which they are given.

    Parameters
    ----------
    x, y : ndarray of float
        Centres, from the top-left corner of the image.
    radius : ndarray of float
        Radii.
    response : ndarray of float
        How suspicious each is; it must not rise from row to row.
    """
    return pd.DataFrame(
        {
            "candidate_id": pd.array([f"{number:04d}" for number in range(1, len(x) + 1)], dtype="str"),
            "x": x.round(LENGTH_DIGITS),
            "y": y.round(LENGTH_DIGITS),
            "radius": radius.round(LENGTH_DIGITS),
            "response": response.round(RESPONSE_DIGITS),
        }
    )


# Steps of about the root of 2, for radii (2.4 sigma, `surroundings`) of 2.6 to 20 mm; nodules of nih-240x3 have 3 to
# 15 mm. They are inputs of the shipped ranking: none may change without `benchmarks.train_ranking` run again.
SCALES_MM = (1.1, 1.5, 2.1, 3.0, 4.2, 6.0, 8.4)
PIXELS_PER_SIGMA = 2.0


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the pyramid: image, region of interest as 0 or 1, and the side of a pixel."""

    image: Map
    region: Map
    mm_per_px: float


def build_pyramid(image: Map, region: Mask, mm_per_px: float) -> list[Level]:
    """Levels, each half as fine as the one before, as far as the scales need them.

    Pixels are averaged two by two. The image is first continued to the right and below to a whole number of
    pixels of the coarsest level.
    """
    depth = max(int(np.log2(SCALES_MM[-1] / PIXELS_PER_SIGMA / mm_per_px)), 0)
    rows, columns = (-size % 2**depth for size in image.shape)
    continued = cv2.copyMakeBorder(image, 0, rows, 0, columns, cv2.BORDER_REPLICATE)
    levels = [Level(continued, np.pad(region, ((0, rows), (0, columns))).astype(np.float32), mm_per_px)]
    for _ in range(depth):
        last = levels[-1]
        rows, columns = last.image.shape
        halves: list[Map] = [
            cv2.resize(one, (columns // 2, rows // 2), interpolation=cv2.INTER_AREA)
            for one in (last.image, last.region)
        ]
        levels.append(Level(halves[0], halves[1], 2 * last.mm_per_px))
    return levels


def choose_level(levels: list[Level], sigma_mm: float) -> Level:
    """Coarsest level whose pixels are at most sigma / `PIXELS_PER_SIGMA`; the finest where none is."""
    fitting = [level for level in levels if level.mm_per_px * PIXELS_PER_SIGMA <= sigma_mm]
    return fitting[-1] if fitting else levels[0]


def blur_reflecting(image: Map, sigma_px: float) -> Map:
    """Gaussian blur, reflected at the border."""
    return blur(image, sigma_px, border=cv2.BORDER_REFLECT)


def second_derivatives(
    smooth: Map, scale: float, *, border: int = cv2.BORDER_REPLICATE
) -> list[cv2.typing.MatLike]:
    """Second derivatives of a map times a scale, by Sobel's filters of 3 x 3: xx, yy and xy."""
    return [
        cv2.Sobel(smooth, cv2.CV_32F, dx, dy, scale=scale, borderType=border)
        for dx, dy in ((2, 0), (0, 2), (1, 1))
    ]


def find_peaks(strength: Map, where: Mask, *, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the largest maxima of a map among their eight neighbours, the largest first.

    Parameters
    ----------
    strength : Map
        The map.
    where : ndarray of bool
        False where no peak counts.
    limit : int
        Most peaks to return.
    """
    highest = cv2.dilate(strength, np.ones((3, 3), dtype=np.uint8))
    row, column = np.nonzero((strength >= highest) & where)
    order = np.argsort(-strength[row, column], kind="stable")[:limit]
    return row[order], column[order]


def find_blobs(strength: Map, where: Mask, mm_per_px: float, sigma_mm: float, *, limit: int) -> FloatArray:
    """Rows of x, y, radius (sqrt(2) sigma) and response of the peaks of a map of one scale."""
    row, column = find_peaks(strength, where, limit=limit)
    x, y = ((index + 0.5) * mm_per_px for index in (column, row))
    return np.stack([x, y, np.full(len(row), sqrt(2) * sigma_mm), strength[row, column]])


# Only `NODULE_PER_DISC` was fitted, as said above; no measurement behind discs and rings is on record.
DISCS_MM = np.geomspace(1.5, 22.0, 24)
RING = (1.1, 1.8)
LARGEST_DISC_MM = 12.0
N_DIRECTIONS = 32
SMOOTHING_MM = 0.7
SPREAD_FLOOR = 0.01
NODULE_PER_DISC = 1.42


def measure_radii(
    pixels: NDArray[np.float32], x_mm: FloatArray, y_mm: FloatArray, mm_per_px: float
) -> FloatArray:
    """Measure the radii in mm of candidates at these positions of a radiograph."""
    image = blur_reflecting(pixels, SMOOTHING_MM / mm_per_px)
    samples = np.empty((len(x_mm), N_DIRECTIONS, len(DISCS_MM)))
    sample_polar(image, x_mm / mm_per_px - 0.5, y_mm / mm_per_px - 0.5, DISCS_MM / mm_per_px, samples)
    profile, area = samples.mean(axis=1), DISCS_MM**2
    disc = np.cumsum(profile * area, axis=1) / np.cumsum(area)
    contrast = np.full(profile.shape, -np.inf)
    for k, radius in enumerate(DISCS_MM):
        ring = (radius * RING[0] < DISCS_MM) & (radius * RING[1] >= DISCS_MM)
        if radius <= LARGEST_DISC_MM:
            spread = samples[:, :, ring].std(axis=(1, 2)) + SPREAD_FLOOR
            contrast[:, k] = (disc[:, k] - profile[:, ring].mean(axis=1)) / spread
    return np.asarray(NODULE_PER_DISC * DISCS_MM[contrast.argmax(axis=1)])


def keep_apart(
    x: FloatArray, y: FloatArray, radius: FloatArray, order: NDArray[np.intp], limit: int
) -> NDArray[np.intp]:
    """Of blobs in this order, those whose centre is in no earlier one and that have no earlier centre in them."""
    kept: list[int] = []
    while len(order) and len(kept) < limit:
        best, rest = order[0], order[1:]
        kept.append(int(best))
        distance = np.hypot(x[rest] - x[best], y[rest] - y[best])
        order = rest[distance >= np.maximum(radius[rest], radius[best])]
    return np.asarray(kept, dtype=np.intp)
