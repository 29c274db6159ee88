"""What the lung model sees of each pixel: brightness, contrast and surroundings on a coarse grid.

Everything here is written for one lung, the one on the left side of the image; the other is found in the mirrored
image by the same model, so that a mirrored radiograph has mirrored lungs.
"""

from __future__ import annotations

import cv2
import numpy as np

from overread.anatomy.filters import blur
from overread.anatomy.structures import Map
from overread.images import Radiograph

__all__ = [
    "COARSE_MM",
    "LIMITS",
    "POSITION_MM",
    "blur_mm",
    "centre_of_mass",
    "coarsen",
    "describe_appearance",
    "describe_context",
    "rank_pixels",
    "shift",
]

# The inputs of the shipped networks: none of these may change without `benchmarks.train_lungs` run anew. The grid is
# coarse for speed (27 ms an image when it was chosen); no measurement behind the others is on record.
COARSE_MM = 3.5
LIMITS = (-0.2, 1.2)
RANK_BINS = 1024
POSITION_MM = 150.0
SMOOTHING_MM = (3.0, 8.0, 20.0)
BACKGROUND_MM = (30.0, 60.0)
SURROUND_MM = 6.0
OFFSETS_MM = tuple(
    (dx * step, dy * step)
    for step, directions in {
        25.0: ((1, 0), (-1, 0), (0, 1), (0, -1)),
        50.0: ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)),
        100.0: ((1, 0), (-1, 0), (0, 1), (0, -1)),
    }.items()
    for dx, dy in directions
)


def coarsen(radiograph: Radiograph) -> Map:
    """Brightness on the grid of `COARSE_MM`, limited to a little beyond 0..1; padding counts as air."""
    rows, columns = radiograph.shape
    scale = radiograph.mm_per_px / COARSE_MM
    size = max(round(columns * scale), 2), max(round(rows * scale), 2)
    pixels = np.clip(np.where(radiograph.valid, radiograph.pixels, LIMITS[0]), *LIMITS)
    shrunk: Map = cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return shrunk


def describe_appearance(image: Map) -> Map:
    """Brightness, rank, contrast to the background, gradient, and rank at offsets: features x rows x columns."""
    rank = blur_mm(rank_pixels(image), SURROUND_MM)
    smooth = [blur_mm(image, mm) for mm in SMOOTHING_MM]
    wide = [blur_mm(image, mm) for mm in BACKGROUND_MM]
    channels = [rank, *smooth, *(smooth[0] - level for level in wide), *(smooth[1] - level for level in wide)]
    for level in smooth[:2]:
        channels += [cv2.Sobel(level, cv2.CV_32F, 1, 0) / 8, cv2.Sobel(level, cv2.CV_32F, 0, 1) / 8]
    channels += [shift(rank, dx, dy) for dx, dy in OFFSETS_MM]
    return np.stack([*channels, *positions(image.shape, centre(image.shape))])


def describe_context(own: Map, other: Map) -> Map:
    """Show a first guess of both lungs as seen from each pixel: features x rows x columns.

    Parameters
    ----------
    own, other
        Probability of the lung that is sought, and of the lung on the other side.
    """
    channels: list[Map] = []
    for lung in (own, other):
        surround = blur_mm(lung, SURROUND_MM)
        channels += [lung, surround, blur_mm(lung, SMOOTHING_MM[2]), blur_mm(lung, BACKGROUND_MM[1])]
        channels += [shift(surround, dx, dy) for dx, dy in OFFSETS_MM]
    both = own + other
    return np.stack([*channels, *positions(own.shape, centre_of_mass(both))])


def blur_mm(image: Map, sigma_mm: float) -> Map:
    """Gaussian blur; the border is repeated outwards."""
    return blur(image, sigma_mm / COARSE_MM)


def rank_pixels(image: Map) -> Map:
    """Fraction of the image that is darker, by a histogram of `RANK_BINS`: nearly untouched by tone curves."""
    low, high = LIMITS
    bins = ((image - low) * ((RANK_BINS - 1) / (high - low))).astype(np.intp)
    counts = np.bincount(bins.ravel(), minlength=RANK_BINS)
    middle = (np.cumsum(counts) - 0.5 * counts) / image.size
    return middle.astype(np.float32)[bins]


def shift(image: Map, dx_mm: float, dy_mm: float) -> Map:
    """Value at an offset from each pixel; beyond the border the nearest pixel counts."""
    rows, columns = image.shape
    row = np.clip(np.arange(rows) + round(dy_mm / COARSE_MM), 0, rows - 1)
    column = np.clip(np.arange(columns) + round(dx_mm / COARSE_MM), 0, columns - 1)
    moved: Map = image.take(row, axis=0).take(column, axis=1)
    return moved


def positions(shape: tuple[int, ...], origin: tuple[float, float]) -> list[Map]:
    """Offset of each pixel from the origin (row, column), in units of `POSITION_MM`, and its squares."""
    row, column = np.indices(shape, dtype=np.float32)
    unit = np.float32(COARSE_MM / POSITION_MM)
    y, x = (row - np.float32(origin[0])) * unit, (column - np.float32(origin[1])) * unit
    return [x, y, x * x, y * y, x * y]


def centre(shape: tuple[int, ...]) -> tuple[float, float]:
    """Row and column of the middle."""
    return (shape[0] - 1) / 2, (shape[1] - 1) / 2


def centre_of_mass(weight: Map) -> tuple[float, float]:
    """Row and column of the centre of mass; the middle where there is no mass."""
    total = float(weight.sum(dtype=np.float64))
    if total < 1.0:
        return centre(weight.shape)
    rows, columns = weight.shape
    return (
        float(weight.sum(axis=1, dtype=np.float64) @ np.arange(rows)) / total,
        float(weight.sum(axis=0, dtype=np.float64) @ np.arange(columns)) / total,
    )
