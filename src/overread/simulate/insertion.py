"""Put nodules into a radiograph so that nothing but the nodule tells.

On the transmitted side a nodule multiplies by ``1 - contrast * field``: with T = white - pixels, smoothed by 1 mm,

    pixels' = pixels + contrast * field * T,

so it is faint over bone and heart and has no seam. T is smoothed because a factor on the noise itself can be told: the
same classifier finds an AUC of 0.63 with it and of 0.52 without (docs/explanation/simulate.md). Its contrast comes from
its conspicuity: mean of pixels' - pixels inside the outline over the deviation of the ring from 1.1 to 2.5 radii, of
the lung pixels only and after a quadratic trend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from overread.simulate.nodules import Nodule, Window, contrast_field, relative_radius, window_around

__all__ = ["image_blur_mm", "insert_nodules", "mean_contrast", "ring_noise", "with_conspicuity"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Part of the definition of conspicuity, in radii; with fewer pixels its deviation says nothing.
RING = (1.1, 2.5)
FEWEST_RING_PIXELS = 30
LARGEST_CONTRAST = 0.85
# Without this smoothing a classifier tells inserted nodules (docs/explanation/simulate.md: AUC 0.63 against 0.52).
SMOOTHING_MM = 1.0
# What is measured is clipped to it; chosen by eye.
BLUR_RANGE_MM = (0.4, 1.5)


def insert_nodules(
    pixels: FloatArray, nodules: Sequence[Nodule], mm_per_px: float, *, white: float
) -> FloatArray:
    """Radiograph with the nodules.

    Parameters
    ----------
    pixels
        What absorbs more is brighter.
    nodules
        With their contrast set.
    mm_per_px
        Side of a pixel.
    white
        Value of a pixel that no radiation reaches.
    """
    result = np.array(pixels, dtype=np.float64)
    for nodule in nodules:
        window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, result.shape, mm_per_px)
        part = result[window.rows, window.columns]
        part += nodule_contribution(nodule, part, window, mm_per_px, white)
    return result


def nodule_contribution(
    nodule: Nodule, part: FloatArray, window: Window, mm_per_px: float, white: float
) -> FloatArray:
    """Give what a nodule adds to the pixels of a window that holds its reach."""
    transmitted = np.maximum(white - gaussian_filter(part, SMOOTHING_MM / mm_per_px), 0.0)
    return np.asarray(nodule.contrast * contrast_field(nodule, window, mm_per_px) * transmitted)


def with_conspicuity(
    nodule: Nodule, pixels: FloatArray, lungs: BoolArray, mm_per_px: float, *, white: float
) -> Nodule:
    """Nodule with the contrast that gives it its conspicuity here; where that is too much, with what can be had."""
    unit = mean_contrast(replace(nodule, contrast=1.0), pixels, mm_per_px, white=white)
    noise = ring_noise(nodule, pixels, lungs, mm_per_px)
    wanted = nodule.conspicuity * noise / unit if unit > 0 else LARGEST_CONTRAST
    return replace(nodule, contrast=round(min(wanted, LARGEST_CONTRAST), 6))


def mean_contrast(nodule: Nodule, pixels: FloatArray, mm_per_px: float, *, white: float) -> float:
    """Mean of what the nodule adds inside its outline."""
    shape = (pixels.shape[0], pixels.shape[1])
    window = window_around(nodule.x_mm, nodule.y_mm, nodule.reach_mm, shape, mm_per_px)
    x, y = window.mm(mm_per_px)
    inside = relative_radius(nodule, x, y)[0] < 1.0
    added = nodule_contribution(nodule, pixels[window.rows, window.columns], window, mm_per_px, white)
    return float(added[inside].mean())


def ring_noise(nodule: Nodule, pixels: FloatArray, lungs: BoolArray, mm_per_px: float) -> float:
    """Deviation of the clean image around a nodule, in the lung, about a quadratic surface."""
    shape = (pixels.shape[0], pixels.shape[1])
    reach = RING[1] * nodule.radius_mm + mm_per_px
    window = window_around(nodule.x_mm, nodule.y_mm, reach, shape, mm_per_px)
    x, y = window.mm(mm_per_px)
    dx, dy = np.broadcast_arrays((x - nodule.x_mm) / nodule.radius_mm, (y - nodule.y_mm) / nodule.radius_mm)
    distance = np.hypot(dx, dy)
    ring = (distance >= RING[0]) & (distance <= RING[1])
    in_lung = ring & lungs[window.rows, window.columns]
    if np.count_nonzero(in_lung) >= FEWEST_RING_PIXELS:
        ring = in_lung
    dx, dy, values = dx[ring], dy[ring], pixels[window.rows, window.columns][ring]
    surface = np.column_stack([np.ones_like(dx), dx, dy, dx * dx, dx * dy, dy * dy])
    fitted = surface @ np.linalg.lstsq(surface, values, rcond=None)[0]
    return float(np.sqrt(np.sum((values - fitted) ** 2) / max(len(values) - 6, 1)))


def image_blur_mm(pixels: FloatArray, mm_per_px: float) -> float:
    """Blur of an image, from its sharpest edges.

    A step blurred by s has the slope A / sqrt(2 pi (s^2 + t^2)) in the image smoothed by t; a difference over two
    pixels smooths by another 1/3 px^2. The two slopes at t = 1 and 2 pixels, each the highest in a thousand, give s;
    it is kept between 0.4 and 1.5 mm.
    """
    slopes, squares = [], []
    for smoothing in (1.0, 2.0):
        smooth = gaussian_filter(np.asarray(pixels, dtype=np.float64), smoothing)
        vertical, horizontal = np.gradient(smooth)
        slopes.append(np.quantile(np.hypot(vertical, horizontal), 0.999))
        squares.append(smoothing**2 + 1 / 3)
    ratio = (slopes[0] / slopes[1]) ** 2 if slopes[1] > 0 else 1.0
    squared = (squares[1] - ratio * squares[0]) / (ratio - 1.0) if ratio > 1.0 else np.inf
    return float(np.clip(np.sqrt(max(squared, 0.0)) * mm_per_px, *BLUR_RANGE_MM))
