"""The candidate against the mirror position in the other lung (9 features).

Mirror place: same row, mirrored at the midline between the lungs. "Best": of 9 positions on a grid of 7 mm around the
mirror position, since lungs are not mirror images. Discs and rings are sampled on 16 rays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from overread.features._arrays import F32, F64, Mask
from overread.features._family import EPSILON, Family, describe_features, stack_columns
from overread.features.context._context import Context
from overread.features.context._maps import SCALES_MM
from overread.features.context._rays import make_rays, polar_grey, principal_curvatures

N_RAYS = 16
PATCH_RHO = np.arange(0.125, 2.0, 0.25)
# Lungs are mirror images to about a rib's width. Set by judgement.
SHIFTS_MM = np.array([-7.0, 0.0, 7.0])
# Below one grey step of 8-bit images, 1 / 256.
NOISE_FLOOR = 0.003

FEATURES = describe_features(
    "symmetry",
    "Left against right after van Ginneken et al. 2001, doi:10.1109/42.974918",
    [
        ("grey", "grey", "mean of the disc of R - mean of that disc at the mirror position",
         "how much brighter the candidate is than the mirror position in the other lung"),
        ("contrast", "grey", "c - c at the mirror position",
         "how much more the candidate stands out than the mirror position in the other lung"),
        ("spread", "1", "ln(sd within 2 R / sd at the mirror position), each with 0.003 added",
         "how much more varied the candidate is than the mirror position in the other lung"),
        ("correlation", "1", "correlation of the disc of 2 R with its mirror image at the mirror position",
         "similarity to the mirror position in the other lung"),
        ("best_grey", "grey", "mean of the disc of R - the largest such mean of 9 positions",
         "how much brighter the candidate is than the brightest spot near the mirror position in the other lung"),
        ("best_contrast", "grey", "c - the largest c of 9 positions",
         "how much more the candidate stands out than any position near the mirror position"),
        ("best_correlation", "1", "largest correlation of 9 positions",
         "similarity to the most similar position near the mirror position in the other lung"),
        ("curvature", "grey", "k2 (see blob) at the scale nearest to R / sqrt 2 - k2 at the mirror position",
         "how much more blob-like the candidate is than the mirror position in the other lung"),
        ("contrast_rank", "1", "share of 9 positions whose c is below the candidate's",
         "share of positions near the mirror position that stand out less than the candidate"),
    ],
    symbols={
        "c": "c = mean of the disc of R - mean of 1..2 R",
        "mirror position": "mirror position: same row, mirrored at the midline between the lungs",
        "9 positions": "9 positions: grid of 7 mm around the mirror position",
    },
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Discs:
    """Grey levels (position, ray, rho) around positions, and their summaries."""

    patch: F64

    @cached_property
    def disc(self) -> F64:
        """Mean within R, by area."""
        return _mean_by_area(self.patch, PATCH_RHO < 1.0)

    @cached_property
    def contrast(self) -> F64:
        """Mean within R minus mean of 1..2 R."""
        return self.disc - _mean_by_area(self.patch, PATCH_RHO > 1.0)

    @cached_property
    def centred(self) -> F64:
        """Patch minus its mean, by area."""
        return self.patch - _mean_by_area(self.patch, PATCH_RHO > 0.0)[:, None, None]

    @cached_property
    def spread(self) -> F64:
        """Standard deviation within 2 R, by area."""
        return np.sqrt(_mean_by_area(self.centred**2, PATCH_RHO > 0.0))


def _mean_by_area(patch: F64, where: Mask) -> F64:
    """Mean by area over chosen radii."""
    weights = PATCH_RHO * where
    return patch.mean(axis=1) @ (weights / weights.sum())


def _compute(context: Context) -> F32:
    """Difference of each candidate from its mirror position."""
    n = context.n_candidates
    mirror = 2.0 * context.maps.midline - context.column
    here = _discs_at(context, context.column, context.row, context.radius_px)
    shift_x, shift_y = (shift.ravel() / context.mm for shift in np.meshgrid(SHIFTS_MM, SHIFTS_MM))
    there = _discs_at(
        context,
        (mirror[:, None] + shift_x).ravel(),
        (context.row[:, None] + shift_y).ravel(),
        np.repeat(context.radius_px, shift_x.size),
    )
    middle = shift_x.size // 2
    disc, contrast = there.disc.reshape(n, -1), there.contrast.reshape(n, -1)
    correlations = _correlate_with_mirror(here, there, shift_x.size)
    spreads = there.spread.reshape(n, -1)
    values = {
        "grey": here.disc - disc[:, middle],
        "contrast": here.contrast - contrast[:, middle],
        "spread": np.log((here.spread + NOISE_FLOOR) / (spreads[:, middle] + NOISE_FLOOR)),
        "correlation": correlations[:, middle],
        "best_grey": here.disc - disc.max(axis=1),
        "best_contrast": here.contrast - contrast.max(axis=1),
        "best_correlation": correlations.max(axis=1),
        "curvature": _curvature_difference(context, mirror),
        "contrast_rank": (contrast < here.contrast[:, None] - EPSILON).mean(axis=1),
    }
    return stack_columns(FEATURES, values, n)


def _discs_at(context: Context, column: F64, row: F64, radius: F64) -> Discs:
    """Sample discs of 2 R on the radiograph smoothed by 1 mm."""
    patch = polar_grey(context.maps.base, column, row, radius, PATCH_RHO, make_rays(N_RAYS))
    return Discs(patch.astype(np.float64))


def _correlate_with_mirror(here: Discs, there: Discs, n_shifts: int) -> F64:
    """Correlation by area with the left-right mirrored patches: (candidate, shift)."""
    flipped = there.centred[:, (N_RAYS // 2 - np.arange(N_RAYS)) % N_RAYS]
    flipped = flipped.reshape(len(here.patch), n_shifts, N_RAYS, -1)
    weights = PATCH_RHO / (PATCH_RHO.sum() * N_RAYS)
    covariance = np.einsum("nkj,nskj->ns", here.centred * weights, flipped)
    spread = there.spread.reshape(len(here.patch), n_shifts)
    return covariance / (here.spread[:, None] * spread + EPSILON)


def _curvature_difference(context: Context, mirror: F64) -> F64:
    """Smaller curvature at the candidate minus that at its mirror position, at the matched scale."""
    matched = context.radius_px * context.mm / np.sqrt(2.0)
    level = np.abs(np.log(np.array(SCALES_MM)[:, None] / matched)).argmin(axis=0)
    out = np.empty(context.n_candidates)
    for index in np.unique(level):
        chosen = level == index
        row, scale = context.row[chosen], SCALES_MM[index]
        image = context.maps.scale_space[index]
        here, there = (
            principal_curvatures(image, column, row, scale_px=scale / context.mm)[1][:, 0]
            for column in (context.column[chosen], mirror[chosen])
        )
        out[chosen] = here - there
    return out


FAMILY = Family(FEATURES, _compute)
