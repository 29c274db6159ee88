"""Contrast and radial profile (20 features).

Grey levels on rays (`overread.features.context._rays`). Trend: quadratic surface fitted to the ring from 1.15 outline
radii to 2.5 R, inside the lungs where enough of it is. Noise s: sqrt(sd of the ring off its trend^2 + 0.003^2).
"""

from __future__ import annotations

import itertools

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import Family, describe_features, ratio, stack_columns
from overread.features.context._context import Context
from overread.features.context._rays import (
    N_ANGLES,
    PER_RADIUS,
    RHO,
    angle_mean,
    area_mean,
    band_mean,
    opposite_min,
    sector_means,
)

# Rays to either side averaged with each: 9 of 64, 50 degrees. Set by judgement.
SECTOR_HALF = 4
# Borders of the discs and rings between which the mean profile drops, in R.
DROP_BORDERS = (0.0, 0.4, 0.7, 1.0, 1.3, 1.7, 2.2)
DROP_PLACES = (
    "just off the centre",
    "half-way to the border",
    "at the border",
    "just outside the border",
    "far outside the border",
)

FEATURES = describe_features(
    "profile",
    "Contrast off a trend after Samei et al. 1999, doi:10.1148/radiology.213.3.r99dc19727; profiles after Keserci "
    "and Yoshida 2002, doi:10.1016/S1361-8415(02)00064-6",
    [
        ("inside_mean", "grey", "mean inside the outline", "brightness inside the outline"),
        ("surround_noise", "grey", "standard deviation of the ring off its trend", "noise of the surroundings"),
        ("contrast", "grey", "mean inside the outline - mean between 1.2 and 2 outline radii",
         "how much brighter the inside is than the surroundings"),
        ("contrast_off_trend", "grey", "mean inside the outline of grey level - trend",
         "how much brighter the inside is than the background estimated from the surroundings"),
        ("contrast_to_noise", "1", "contrast_off_trend / s",
         "contrast of the inside relative to the noise of the surroundings"),
        ("peak_to_noise", "1", "largest mean over a ring of 64 points within R / 2 of grey level - trend, / s",
         "contrast of the brightest part relative to the noise of the surroundings"),
        ("sector_min", "1", "min over directions of c_k / s",
         "contrast relative to noise in the weakest direction"),
        ("sector_median", "1", "median over directions of c_k / s",
         "contrast relative to noise in the median direction"),
        ("opposite_min", "1", "min over directions of (c_k + c_opposite) / 2 s: near 0 on lines, ribs and edges",
         "contrast on two opposite sides at once, low on lines, ribs and edges"),
        *[
            (f"drop_{i}", "1",
             f"(mean of {DROP_BORDERS[i - 1]}..{DROP_BORDERS[i]} R - mean of {DROP_BORDERS[i]}.."
             f"{DROP_BORDERS[i + 1]} R) / s, off trend",
             f"fall of brightness {where}")
            for i, where in enumerate(DROP_PLACES, start=1)
        ],
        ("edge_sharpness", "1", "largest fall of the mean profile over 0.3 R, / s, within 1.8 R",
         "how sharp the border is"),
        ("edge_radius", "1", "mean of rho up to 2, weighted by the mean profile's falls (1 where it never falls)",
         "how far out the border lies"),
        ("edge_agreement", "1", "share of directions whose grey level falls from 0.5..0.9 R to 1.1..1.5 R",
         "share of directions in which brightness falls across the border"),
        ("radial_fraction", "1", "variance of the mean profile / variance of all points off trend, rho < 1.5",
         "how closely brightness follows the distance from the centre"),
        ("angular_spread", "1", "mean over rho < 1.5 of the sd over directions, off trend, / s",
         "how unequal the brightness is around the centre"),
        ("point_asymmetry", "1", "mean |g(rho, t) - g(rho, t + 180 deg)| over rho < 1.2, / s",
         "how different opposite sides are"),
    ],
    symbols={
        "c_k": "c_k = mean of rho < 1/2 - mean of 1.3..2 R over the 50 deg sector around direction k",
        "s": "s = sqrt(surround_noise^2 + 0.003^2), the surround's noise",
        "trend": "trend: quadratic surface fitted to the ring from 1.15 outline radii to 2.5 R, inside the lungs if "
        "30 % of the ring is",
    },
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Contrast and profile of each candidate."""
    return stack_columns(
        FEATURES,
        _contrasts(context)
        | _directional_contrasts(context)
        | _profile_numbers(context)
        | _isotropy(context),
        context.n_candidates,
    )


def _contrasts(context: Context) -> dict[str, F64]:
    """Inside against outside."""
    trend, noise = context.trend, context.trend.noise_scale
    radius = context.outlines.ray_radius[:, :, None]
    around_it = (radius * 1.2 < RHO) & (radius * 2.0 > RHO)
    inside_mean = area_mean(context.grey, context.inside)
    off_trend = area_mean(trend.detrended, context.inside)
    peak = angle_mean(trend.detrended[:, :, : PER_RADIUS // 2]).max(axis=1)
    return {
        "inside_mean": inside_mean,
        "surround_noise": trend.noise,
        "contrast": inside_mean - area_mean(context.grey, around_it),
        "contrast_off_trend": off_trend,
        "contrast_to_noise": off_trend / noise,
        "peak_to_noise": peak / noise,
    }


def _directional_contrasts(context: Context) -> dict[str, F64]:
    """Contrast against each side of the surround."""
    grey, noise = context.grey, context.trend.noise_scale
    centre = band_mean(grey, 0.0, 0.5).mean(axis=1, keepdims=True)
    contrast = (centre - sector_means(band_mean(grey, 1.3, 2.0), half=SECTOR_HALF)) / noise[:, None]
    falls = band_mean(grey, 0.5, 0.9) > band_mean(grey, 1.1, 1.5)
    return {
        "sector_min": contrast.min(axis=1),
        "sector_median": np.median(contrast, axis=1),
        "opposite_min": opposite_min(contrast),
        "edge_agreement": falls.mean(axis=1),
    }


def _profile_numbers(context: Context) -> dict[str, F64]:
    """Mean profile off trend."""
    detrended, noise = context.trend.detrended, context.trend.noise_scale
    profile = angle_mean(detrended)
    rings = np.stack(
        [band_mean(detrended, start, end).mean(axis=1) for start, end in itertools.pairwise(DROP_BORDERS)],
        axis=1,
    )
    drops = (rings[:, :-1] - rings[:, 1:]) / noise[:, None]
    fall = profile[:, : 15 * PER_RADIUS // 10] - profile[:, 3 * PER_RADIUS // 10 : 18 * PER_RADIUS // 10]
    falls = np.maximum(profile[:, : 2 * PER_RADIUS - 1] - profile[:, 1 : 2 * PER_RADIUS], 0.0)
    rho = RHO[: 2 * PER_RADIUS - 1] + 0.5 / PER_RADIUS
    return {f"drop_{i + 1}": drops[:, i] for i in range(drops.shape[1])} | {
        "edge_sharpness": fall.max(axis=1) / noise,
        "edge_radius": ((falls * rho).sum(axis=1) + 1e-9) / (falls.sum(axis=1) + 1e-9),
    }


def _isotropy(context: Context) -> dict[str, F64]:
    """How far the candidate looks the same in all directions."""
    noise = context.trend.noise_scale
    disc = context.trend.detrended[:, :, : 3 * PER_RADIUS // 2]
    weights = RHO[: disc.shape[2]] / RHO[: disc.shape[2]].sum()
    profile = angle_mean(disc)
    variance_in_ring = np.maximum(angle_mean(disc**2) - profile**2, 0.0)
    mean = (profile * weights).sum(axis=1, keepdims=True)
    between = ((profile - mean) ** 2 * weights).sum(axis=1)
    within = (variance_in_ring * weights).sum(axis=1)
    core = context.grey[:, :, : 12 * PER_RADIUS // 10]
    weights_core = RHO[: core.shape[2]] / RHO[: core.shape[2]].sum()
    half = N_ANGLES // 2
    apart = angle_mean(np.abs(core[:, :half] - core[:, half:]))
    return {
        "radial_fraction": ratio(between, between + within),
        "angular_spread": (np.sqrt(variance_in_ring) * weights).sum(axis=1) / noise,
        "point_asymmetry": (apart * weights_core).sum(axis=1) / noise,
    }


FAMILY = Family(FEATURES, _compute)
