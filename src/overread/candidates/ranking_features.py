"""What several detectors say about one place: the numbers from which places are ranked."""

from __future__ import annotations

from dataclasses import dataclass, fields

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.anatomy.structures import Map, Mask
from overread.candidates._kernels import measure_band_convergence
from overread.candidates.curvature import Scale, measure_scales
from overread.candidates.pyramid import blur_reflecting, build_pyramid, find_peaks
from overread.candidates.surroundings import (
    N_DIRECTIONS,
    RADIUS_PER_SIGMA,
    describe_surroundings,
    sample_rings,
)

__all__ = ["RESPONSES", "Places", "correlate_template", "find_places", "measure_harmonics"]

FloatArray = NDArray[np.float64]

# Inputs of the shipped ranking: none may change without `benchmarks.train_ranking` run anew. No measurement behind them
# is on record. Radii are in units of 2.4 sigma.
RADII = (0.3, 0.6, 0.9, 1.2, 1.6)
PRESMOOTHING = 0.5
BAND_RADII = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BAND = 3
DEEP_MM = 15.0
# Curvature that counts as nothing, in units of the normalized image.
FLOOR = 1e-3
# A peak below it is noise on a flat image; no measurement behind it is on record.
LEAST_STRENGTH = 0.05
# Chosen by the recall on nih-240x3, as the widths of `search_region` (docs/reference/candidates.md).
OUTSIDE_PER_SIGMA = 1.2

RESPONSES = (
    "curvature_over_image",
    "curvature_over_neighbourhood",
    "curvature_finer",
    "curvature_coarser",
    "roundness",
    "least_axis_contrast",
    "low_contrast",
    "median_contrast",
    "falling_share",
    "contrast_over_image",
    "profile_0.6",
    "profile_0.9",
    "profile_1.2",
    "profile_1.6",
    "template",
    "edge",
    "ridge",
    "contrast_over_rest",
    "convergence",
    "least_axis_convergence",
    "depth",
)


@dataclass(frozen=True, eq=False)
class Places:
    """Local maxima of k1 at all scales.

    Parameters
    ----------
    x_mm, y_mm
        Centres.
    scale
        Which of `SCALES_MM`.
    responses
        Places x `RESPONSES`, all finite.
    surroundings
        Places x `N_SURROUNDINGS`, all finite.
    """

    x_mm: FloatArray
    y_mm: FloatArray
    scale: NDArray[np.int64]
    responses: FloatArray
    surroundings: FloatArray

    def select(self, kept: NDArray[np.bool_]) -> Places:
        """Keep some of the places."""
        return Places(*(getattr(self, field.name)[kept] for field in fields(self)))


def find_places(image: Map, region: Mask, mm_per_px: float, *, per_scale: int) -> Places:
    """Local maxima of k1 in the region, at most ``per_scale`` a scale, with what every detector says of them."""
    levels = build_pyramid(image, region, mm_per_px)
    inside = levels[0].region.astype(np.uint8)
    depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3) * np.float32(mm_per_px / DEEP_MM)
    scales = measure_scales(levels)
    parts = [find_places_at(scales, k, depth, mm_per_px, per_scale) for k in range(len(scales))]
    return Places(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Places))
    )


def find_places_at(scales: list[Scale], k: int, depth: Map, depth_mm_per_px: float, limit: int) -> Places:
    """Local maxima of one scale."""
    scale = scales[k]
    row, column = find_maxima(scale, limit)
    px = scale.level.mm_per_px
    x, y = ((index.astype(np.float64) + 0.5) * px for index in (column, row))
    smaller, larger = scale.smaller[row, column], scale.larger[row, column]
    around = scale.neighbourhood[row, column]
    named = {
        "curvature_over_image": np.log((smaller + FLOOR) / (scale.mean + FLOOR)),
        "curvature_over_neighbourhood": np.log((smaller + FLOOR) / (around + FLOOR)),
        "curvature_finer": log_curvature(scales[max(k - 1, 0)], x, y),
        "curvature_coarser": log_curvature(scales[min(k + 1, len(scales) - 1)], x, y),
        "roundness": smaller / np.maximum(larger, FLOOR),
        "depth": np.minimum(sample_nearest(depth, x, y, depth_mm_per_px), 1.0),
        **measure_contrasts(scale, column, row),
    }
    responses = np.column_stack([named[name] for name in RESPONSES]).astype(np.float64)
    return Places(x, y, np.full(len(x), k), responses, describe_surroundings(scale, column, row))


def find_maxima(scale: Scale, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the largest local maxima of k1 over its surroundings, in the region and near it.

    Near is `OUTSIDE_PER_SIGMA` sigma: the centre of a large nodule at the border of a lung lies outside its field.
    """
    strength = scale.smaller / (scale.neighbourhood + np.float32(scale.mean + FLOOR))
    size = 2 * round(OUTSIDE_PER_SIGMA * scale.sigma_mm / scale.level.mm_per_px) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    near = cv2.dilate((scale.level.region > 0.5).astype(np.uint8), kernel) > 0
    return find_peaks(strength, near & (strength > LEAST_STRENGTH), limit=limit)


def log_curvature(scale: Scale, x_mm: FloatArray, y_mm: FloatArray) -> FloatArray:
    """Logarithm of k1 over its mean at another scale."""
    value = sample_nearest(scale.smaller, x_mm, y_mm, scale.level.mm_per_px)
    return np.asarray(np.log((value + FLOOR) / (scale.mean + FLOOR)))


def measure_contrasts(
    scale: Scale, column: NDArray[np.int64], row: NDArray[np.int64]
) -> dict[str, FloatArray]:
    """Contrast of the core to what lies around it in 16 directions, over the spread of the surroundings.

    With s(d, t) the brightness in direction d at t radii, the contrast in direction d is the mean over all
    directions of s(., 0.3) minus the mean of s(d, 0.9) and s(d, 1.2); the spread is the standard deviation of all
    s(., t) with t >= 0.9. An axis is two opposite directions.
    """
    level = scale.level
    sigma_px = scale.sigma_mm / level.mm_per_px
    image = blur_reflecting(level.image, PRESMOOTHING * sigma_px)
    samples = sample_rings(image, column, row, RADII, sigma_px)
    spread = samples[:, :, 2:].std(axis=(1, 2)) + FLOOR
    contrast = samples[:, :, 0].mean(axis=1)[:, None] - samples[:, :, 2:4].mean(axis=2)
    axes = (contrast[:, : N_DIRECTIONS // 2] + contrast[:, N_DIRECTIONS // 2 :]) / 2
    ordered = np.sort(contrast, axis=1)
    falling = np.diff(samples[:, :, :4], axis=2) < 0
    typical = float(np.median(spread)) if len(spread) else 1.0
    return {
        "least_axis_contrast": axes.min(axis=1) / spread,
        "low_contrast": ordered[:, N_DIRECTIONS // 4] / spread,
        "median_contrast": ordered[:, N_DIRECTIONS // 2] / spread,
        "falling_share": falling.mean(axis=(1, 2)),
        "contrast_over_image": np.arcsinh(axes.min(axis=1) / typical),
        **{
            f"profile_{radius}": (samples[:, :, 0] - samples[:, :, k]).mean(axis=1) / spread
            for k, radius in enumerate(RADII[1:], start=1)
        },
        "template": correlate_template(samples),
        **measure_harmonics(samples, spread),
        **measure_convergence(image, column, row, sigma_px),
    }


def correlate_template(samples: FloatArray) -> FloatArray:
    """Correlation with the profile max(0, 1 - t^2), each sample weighted by the area it stands for."""
    radii = np.asarray(RADII)
    weight = radii / (N_DIRECTIONS * radii.sum())
    template = np.maximum(1 - radii**2, 0)
    template = template - N_DIRECTIONS * (weight @ template)
    values = samples - (samples * weight).sum(axis=(1, 2), keepdims=True)
    shared = (values * (weight * template)).sum(axis=(1, 2))
    own = N_DIRECTIONS * (weight @ template**2) * (values**2 * weight).sum(axis=(1, 2))
    return np.asarray(shared / np.sqrt(own + FLOOR**2))


def measure_harmonics(samples: FloatArray, spread: FloatArray) -> dict[str, FloatArray]:
    """Surroundings (t >= 0.9) as harmonics of the angle: the 1st is an edge, the 2nd a ridge, the rest is noise."""
    waves = np.abs(np.fft.rfft(samples[:, :, 2:], axis=1)) * (np.sqrt(2) / N_DIRECTIONS)
    edge, ridge = (np.sqrt((waves[:, k] ** 2).mean(axis=1)) for k in (1, 2))
    rest = np.sqrt((waves[:, 3:] ** 2).sum(axis=1).mean(axis=1)) + FLOOR
    contrast = (samples[:, :, 0] - samples[:, :, 2:4].mean(axis=2)).mean(axis=1)
    return {
        "edge": edge / spread,
        "ridge": ridge / spread,
        "contrast_over_rest": np.arcsinh(contrast / rest),
    }


def measure_convergence(
    image: Map, column: NDArray[np.int64], row: NDArray[np.int64], sigma_px: float
) -> dict[str, FloatArray]:
    """How far gradients point to the place, by a sliding band: mean over directions, and of the least axis."""
    gx, gy = (
        cv2.Sobel(image, cv2.CV_32F, dx, dy, borderType=cv2.BORDER_REPLICATE) for dx, dy in ((1, 0), (0, 1))
    )
    cosine = np.empty((len(row), N_DIRECTIONS))
    reach = np.asarray(BAND_RADII) * RADIUS_PER_SIGMA * sigma_px
    measure_band_convergence(gx, gy, column.astype(np.float64), row.astype(np.float64), reach, BAND, cosine)
    axes = (cosine[:, : N_DIRECTIONS // 2] + cosine[:, N_DIRECTIONS // 2 :]) / 2
    return {"convergence": cosine.mean(axis=1), "least_axis_convergence": axes.min(axis=1)}


def sample_nearest(image: Map, x_mm: FloatArray, y_mm: FloatArray, mm_per_px: float) -> FloatArray:
    """Value of the nearest pixel."""
    row = np.clip((y_mm / mm_per_px).astype(np.intp), 0, image.shape[0] - 1)
    column = np.clip((x_mm / mm_per_px).astype(np.intp), 0, image.shape[1] - 1)
    return image[row, column].astype(np.float64)
