"""One score from the responses of several detectors at a position and the rings around it.

None of these numbers changes when the image is turned about the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files

import cv2
import numpy as np
from numpy.typing import NDArray

from overread.domains._kernels import measure_band_convergence, sample_polar
from overread.domains._scale_space import SCALES_MM, blur_reflecting, build_pyramid, find_peaks
from overread.domains.chest._lungs import Network, make_disc
from overread.domains.chest._search import Scale, measure_scales
from overread.features import Map, Mask

FloatArray = NDArray[np.float64]

# Inputs of the shipped ranking: none may change without a new run of `benchmarks.train_ranking`. No measurement
# behind them is on record.
N_DIRECTIONS = 16
RADIUS_PER_SIGMA = 2.4
RINGS = (0.15, 0.35, 0.55, 0.75, 0.95, 1.15, 1.4, 1.7, 2.1, 2.6)
OUTER = slice(4, 8)
N_HARMONICS = 6
SURROUNDINGS_PRESMOOTHING = 0.35
SPREAD_FLOOR = 0.004
TYPICAL_CONTRAST = 0.02
N_SURROUNDINGS = (2 + N_HARMONICS) * len(RINGS) + 1


def describe_surroundings(scale: Scale, column: NDArray[np.int64], row: NDArray[np.int64]) -> FloatArray:
    """Describe the surroundings of each place at its scale, `N_SURROUNDINGS` numbers each.

    The brightness is sampled in 16 directions on the rings t = `RINGS`, in units of 2.4 sigma. With m(t) its mean
    over directions, a_n(t) the size of its n-th harmonic, m and s mean and deviation of the rings from 0.95 to 1.7,
    these are (m(t) - m) / s and arcsinh((m(t) - m) / 0.02) for each ring, a_n(t) / s for n = 1..6, and log s.
    """
    level = scale.level
    sigma_px = scale.sigma_mm / level.mm_per_px
    image = blur_reflecting(level.image, SURROUNDINGS_PRESMOOTHING * sigma_px)
    samples = sample_rings(image, column, row, RINGS, sigma_px)
    waves = np.fft.rfft(samples, axis=1)[:, : N_HARMONICS + 1] / N_DIRECTIONS
    means = waves[:, 0].real
    contrast = means - means[:, OUTER].mean(axis=1, keepdims=True)
    spread = samples[:, :, OUTER].std(axis=(1, 2))[:, None] + SPREAD_FLOOR
    harmonics = np.abs(waves[:, 1:]).reshape(len(row), N_HARMONICS * len(RINGS))
    parts = contrast / spread, np.arcsinh(contrast / TYPICAL_CONTRAST), harmonics / spread, np.log(spread)
    return np.hstack(parts)


def sample_rings(
    image: NDArray[np.float32],
    column: NDArray[np.int64],
    row: NDArray[np.int64],
    rings: Sequence[float],
    sigma_px: float,
) -> FloatArray:
    """Sample the brightness around each position, positions x directions x rings; rings in units of 2.4 sigma."""
    samples = np.empty((len(row), N_DIRECTIONS, len(rings)))
    reach = np.asarray(rings) * RADIUS_PER_SIGMA * sigma_px
    sample_polar(image, column.astype(np.float64), row.astype(np.float64), reach, samples)
    return samples


# Inputs of the shipped ranking: none may change without a new run of `benchmarks.train_ranking`. No measurement
# behind them is on record. Radii are in units of 2.4 sigma.
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
    """Local maxima of k1 at all scales."""

    x_mm: FloatArray
    y_mm: FloatArray
    scale: NDArray[np.int64]  # which of SCALES_MM
    responses: FloatArray  # places x RESPONSES, all finite
    surroundings: FloatArray  # places x N_SURROUNDINGS, all finite

    def select(self, kept: NDArray[np.bool_]) -> Places:
        """Keep some of the positions."""
        return Places(*(getattr(self, field.name)[kept] for field in fields(self)))


def find_places(image: Map, region: Mask, mm_per_px: float, *, per_scale: int) -> Places:
    """Local maxima of k1 in the region, at most ``per_scale`` a scale, with what every detector says of them."""
    levels = build_pyramid(image, region, mm_per_px)
    inside = levels[0].region.astype(np.uint8)
    depth = cv2.distanceTransform(inside, cv2.DIST_L2, 3) * np.float32(mm_per_px / DEEP_MM)
    scales = measure_scales(levels)
    parts = [_find_places_at(scales, k, depth, mm_per_px, per_scale) for k in range(len(scales))]
    return Places(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Places))
    )


def _find_places_at(scales: list[Scale], k: int, depth: Map, depth_mm_per_px: float, limit: int) -> Places:
    """Local maxima of one scale."""
    scale = scales[k]
    row, column = _find_maxima(scale, limit)
    px = scale.level.mm_per_px
    x, y = ((index.astype(np.float64) + 0.5) * px for index in (column, row))
    smaller, larger = scale.smaller[row, column], scale.larger[row, column]
    around = scale.neighbourhood[row, column]
    named = {
        "curvature_over_image": np.log((smaller + FLOOR) / (scale.mean + FLOOR)),
        "curvature_over_neighbourhood": np.log((smaller + FLOOR) / (around + FLOOR)),
        "curvature_finer": _log_curvature(scales[max(k - 1, 0)], x, y),
        "curvature_coarser": _log_curvature(scales[min(k + 1, len(scales) - 1)], x, y),
        "roundness": smaller / np.maximum(larger, FLOOR),
        "depth": np.minimum(_sample_nearest(depth, x, y, depth_mm_per_px), 1.0),
        **measure_contrasts(scale, column, row),
    }
    responses = np.column_stack([named[name] for name in RESPONSES]).astype(np.float64)
    return Places(x, y, np.full(len(x), k), responses, describe_surroundings(scale, column, row))


def _find_maxima(scale: Scale, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the largest local maxima of k1 over its surroundings, in the region and near it.

    Near is `OUTSIDE_PER_SIGMA` sigma: the centre of a large nodule at the border of a lung lies outside its field.
    """
    strength = scale.smaller / (scale.neighbourhood + np.float32(scale.mean + FLOOR))
    size = 2 * round(OUTSIDE_PER_SIGMA * scale.sigma_mm / scale.level.mm_per_px) + 1
    near = cv2.dilate((scale.level.region > 0.5).astype(np.uint8), make_disc(size)) > 0
    return find_peaks(strength, near & (strength > LEAST_STRENGTH), limit=limit)


def _log_curvature(scale: Scale, x_mm: FloatArray, y_mm: FloatArray) -> FloatArray:
    """Logarithm of k1 over its mean at another scale."""
    value = _sample_nearest(scale.smaller, x_mm, y_mm, scale.level.mm_per_px)
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
        **_measure_convergence(image, column, row, sigma_px),
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


def _measure_convergence(
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


def _sample_nearest(image: Map, x_mm: FloatArray, y_mm: FloatArray, mm_per_px: float) -> FloatArray:
    """Value of the nearest pixel."""
    row = np.clip((y_mm / mm_per_px).astype(np.intp), 0, image.shape[0] - 1)
    column = np.clip((x_mm / mm_per_px).astype(np.intp), 0, image.shape[1] - 1)
    return image[row, column].astype(np.float64)


PARAMETERS = "ranking.npz"
# Makes the logarithm of the scale about 0 in the middle; the network takes any offset in.
MIDDLE_SCALE_MM = 3.5


@dataclass(frozen=True, eq=False)
class Ranking:
    """A network on the features of a position."""

    network: Network
    lowest: NDArray[np.float32]  # inputs are cut to these bounds: nothing beyond was seen in training
    highest: NDArray[np.float32]

    def score(self, places: Places) -> NDArray[np.float64]:
        """Log-odds, up to a constant, that a position is the centre of a nodule."""
        return self.answer(make_ranking_inputs(places))

    def answer(self, inputs: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log-odds of each row of inputs."""
        within = np.clip(inputs, self.lowest, self.highest)
        return self.network.log_odds(np.ascontiguousarray(within.T)).astype(np.float64)


def make_ranking_inputs(places: Places) -> NDArray[np.float32]:
    """Responses, surroundings, logarithm of the scale and its square, one row per position."""
    size = np.log(np.asarray(SCALES_MM) / MIDDLE_SCALE_MM)[places.scale, None]
    return np.hstack([places.responses, places.surroundings, size, size**2]).astype(np.float32)


@cache
def load_ranking() -> Ranking:
    """Load the weights shipped with the package; `benchmarks.train_ranking` makes them again."""
    with (files(__package__) / PARAMETERS).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return Ranking(Network.from_arrays(stored, "network"), stored["lowest"], stored["highest"])
