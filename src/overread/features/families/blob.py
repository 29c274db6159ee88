"""Laplacian, difference of Gaussians and principal curvatures at five scales (25 features).

L_s: the radiograph smoothed by a Gaussian of sigma s. Derivatives are differences over max(s / 3, one pixel).
k1 >= k2: -s^2 times the smaller and the larger eigenvalue of the Hessian of L_s; both are positive on a bright
blob, k2 is near 0 on a line.
"""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64
from overread.features._family import Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._maps import BASE_MM, SCALES_MM
from overread.features.context._rays import CENTRE, make_rays, polar_grey, principal_curvatures

RING = make_rays(16)
# Curvatures below this count as none, in grey. Set by judgement: a quarter of a grey step of 8-bit images.
CURVATURE_FLOOR = 1e-3


def _scale_name(scale_mm: float) -> str:
    """Say a scale in a feature's name: 1.6 mm is s16."""
    return f"s{round(10 * scale_mm)}"


FEATURES = describe_features(
    "blob",
    "Lindeberg 1998, doi:10.1023/A:1008045108935; Frangi et al. 1998, doi:10.1007/BFb0056195",
    [
        row
        for scale, narrower in zip(SCALES_MM, (BASE_MM, BASE_MM, *SCALES_MM), strict=False)
        for row in (
            (f"log.{_scale_name(scale)}", "grey", f"k1 + k2 = -s^2 Laplacian of L_s, s = {scale} mm",
             f"strength of a bright spot, at a scale of {scale:g} mm"),
            (f"dog.{_scale_name(scale)}", "grey", f"L_t - L_s, s = {scale} mm, t = {narrower} mm",
             f"how much brighter the centre is than a wider neighbourhood, at a scale of {scale:g} mm"),
            (f"curvature.{_scale_name(scale)}", "grey", f"k2, the smaller curvature, s = {scale} mm",
             f"how much the centre stands out in every direction, unlike a line, at a scale of {scale:g} mm"),
            (f"roundness.{_scale_name(scale)}", "1", f"k2 / (|k1| + 0.001) cut to -1..1, s = {scale} mm",
             f"how round rather than line-like a bright spot is, at a scale of {scale:g} mm"),
            (f"conspicuity.{_scale_name(scale)}", "1",
             f"k2 / (mean of max(|k1|, |k2|) at 16 points on the circle of 3 s + 0.001), s = {scale} mm",
             f"strength of a bright spot relative to the structures around it, at a scale of {scale:g} mm"),
        )
    ],
    symbols={
        "k1": "k1 >= k2: -s^2 times the eigenvalues of the Hessian of L_s",
        "k2": "k1 >= k2: -s^2 times the eigenvalues of the Hessian of L_s",
        "L_s": "L_s: the radiograph smoothed by a Gaussian of sigma s",
    },
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Filter responses at each candidate's centre."""
    values: dict[str, F64] = {}
    for index, scale in enumerate(SCALES_MM):
        name, scale_px = _scale_name(scale), scale / context.mm
        place = (context.maps.scale_space[index], context.column, context.row)
        large, small = principal_curvatures(*place, scale_px=scale_px)
        around_large, around_small = principal_curvatures(
            *place, scale_px=scale_px, directions=RING, distance_px=3.0 * scale_px
        )
        surround = np.maximum(np.abs(around_large), np.abs(around_small)).mean(axis=1)
        k1, k2 = large[:, 0], small[:, 0]
        values[f"log.{name}"] = k1 + k2
        narrow = context.maps.scale_space[index - 2] if index >= 2 else context.maps.base
        values[f"dog.{name}"] = at_centre(context, narrow) - at_centre(context, place[0])
        values[f"curvature.{name}"] = k2
        values[f"roundness.{name}"] = np.clip(k2 / (np.abs(k1) + CURVATURE_FLOOR), -1.0, 1.0)
        values[f"conspicuity.{name}"] = k2 / (surround + CURVATURE_FLOOR)
    return stack_columns(FEATURES, values, context.n_candidates)


def at_centre(context: Context, level: F32) -> F64:
    """Value of a map at each candidate's centre."""
    radius = np.zeros(context.n_candidates)
    grey = polar_grey(level, context.column, context.row, radius, np.zeros(1), CENTRE)
    return grey[:, 0, 0].astype(np.float64)


FAMILY = Family(FEATURES, _compute)
