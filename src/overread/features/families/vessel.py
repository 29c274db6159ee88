"""Vessels at and around the candidate (6 features).

Line strength at a point: l = max(0, k1 - max(|k2|, 0)) with k1 >= k2 minus the eigenvalues of the Hessian, at 1 mm
smoothing, times (1.4 mm)^2; its direction is that of the smaller curvature. Sampled on 64 rays, every R / 4.
"""

from __future__ import annotations

import numpy as np

from overread.features._arrays import F32, F64, Mask
from overread.features._family import Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._rays import N_ANGLES, SECOND_RHO, SECOND_STEP_MM, angle_mean, sector_means

# Strengths below this count as none, as in family blob.
STRENGTH_FLOOR = 1e-3
# Radii 1.25, 1.5 and 1.75 R.
OUTER = slice(4, 7)
# A vessel that reaches the candidate stands out from the mean of its circle by half of it. Set by judgement.
STANDS_OUT = 1.5

FEATURES = describe_features(
    "vessel",
    "Frangi et al. 1998, doi:10.1007/BFb0056195 (line strength); Agam et al. 2005, IEEE TMI 24, vessel tree "
    "reconstruction (vessels against nodules)",
    [
        ("inside", "1", "mean of l within R / 2, by area, / s", "strength of vessel-like lines inside the candidate"),
        ("surround", "1", "mean of l over 1.25..2 R, by area, / s",
         "strength of vessel-like lines around the candidate"),
        ("radial_share", "1",
         "S(l cos^2 a) / (S(l) + 0.001), a the angle of line and ray, S the mean over rays, summed over 1.25, 1.5, "
            "1.75 R",
         "share of the lines around the candidate that lead to it"),
        ("through", "1", "max over directions of min(v_k, v_opposite) / s",
         "strength of a line that runs through the candidate"),
        ("count", "1", "number of arcs of the circle on which v_k > 1.5 mean(v) + 0.001",
         "number of lines that lead to the candidate"),
        ("reach", "1", "largest v_k / s", "strength of the strongest line that leads to the candidate"),
    ],
    symbols={
        "l": "l: line strength max(0, k1 - |k2|) (1.4 mm)^2, k1 >= k2 minus the eigenvalues of the Hessian at 1 mm "
        "smoothing",
        "v": "v_k: mean over 1.25, 1.5, 1.75 R and 5 rays around k of max(0, -d2g/dt2) (1.4 mm)^2",
        "v_k": "v_k: mean over 1.25, 1.5, 1.75 R and 5 rays around k of max(0, -d2g/dt2) (1.4 mm)^2",
        "s": "s: noise of the ring, as in family profile",
    },
)  # fmt: skip


def _compute(context: Context) -> F32:
    """Lines at and around each candidate."""
    along, across, mixed = (part * np.float32(SECOND_STEP_MM**2) for part in context.curvature)
    noise = context.trend.noise_scale
    middle = -(along + across) / 2.0
    apart = np.sqrt(((along - across) / 2.0) ** 2 + mixed**2)
    strength = np.maximum(middle + apart - np.abs(middle - apart), 0.0)
    towards_ray = (np.float32(0.5) + (along - across) / (apart + np.float32(1e-9)) / 4).astype(np.float32)
    reaching = np.maximum(-across[:, :, OUTER], 0.0).mean(axis=2).astype(np.float64)
    reaching = sector_means(reaching, half=2)
    opposite = np.minimum(reaching, np.roll(reaching, N_ANGLES // 2, axis=1))
    total = angle_mean(strength[:, :, OUTER]).sum(axis=1)
    radial = angle_mean((strength * towards_ray)[:, :, OUTER]).sum(axis=1)
    above = reaching > STANDS_OUT * reaching.mean(axis=1, keepdims=True) + STRENGTH_FLOOR
    values = {
        "inside": _zone_mean(strength, SECOND_RHO <= 0.5) / noise,
        "surround": _zone_mean(strength, (SECOND_RHO >= 1.25) & (SECOND_RHO <= 2.0)) / noise,
        "radial_share": radial / (total + STRENGTH_FLOOR),
        "through": opposite.max(axis=1) / noise,
        "count": (above & ~np.roll(above, 1, axis=1)).sum(axis=1).astype(np.float64),
        "reach": reaching.max(axis=1) / noise,
    }
    return stack_columns(FEATURES, values, context.n_candidates)


def _zone_mean(values: F32, where: Mask) -> F64:
    """Mean over rings, by area."""
    weights = SECOND_RHO * where
    return angle_mean(values) @ (weights / weights.sum())


FAMILY = Family(FEATURES, _compute)
