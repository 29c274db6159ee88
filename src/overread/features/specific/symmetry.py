"""The candidate against the same place of the other lung (9 features).

Mirror place: same row, mirrored at the midline between the lungs. "Best": of 9 places on a grid of 7 mm around the
mirror place, since lungs are not mirror images. Discs and rings are sampled on 16 rays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overread.features.feature import Context, Family
from overread.features.specific import _kernels
from overread.features.specific.blob import principal_curvatures
from overread.features.specific.describing import EPSILON, columns, described
from overread.features.specific.maps import SCALES_MM
from overread.features.specific.measurements import Measurements, measured, rays

__all__ = ["SYMMETRY"]

N_RAYS = 16
PATCH_RHO = np.arange(0.125, 2.0, 0.25)
SHIFTS_MM = np.array([-7.0, 0.0, 7.0])
NOISE_FLOOR = 0.003

FEATURES = described(
    "symmetry",
    "Left against right after van Ginneken et al. 2001, doi:10.1109/42.974918",
    [
        ("grey", "grey", "mean of the disc of R - the same at the mirror place"),
        ("contrast", "grey", "c - c at the mirror place"),
        ("spread", "1", "ln(sd within 2 R / the same at the mirror place), each with 0.003 added"),
        ("correlation", "1", "correlation of the disc of 2 R with its mirror image at the mirror place"),
        ("best_grey", "grey", "mean of the disc of R - the largest such mean of 9 places"),
        ("best_contrast", "grey", "c - the largest c of 9 places"),
        ("best_correlation", "1", "largest correlation of 9 places"),
        (
            "curvature",
            "grey",
            "k2 (see blob) at the scale nearest to R / sqrt 2 - the same at the mirror place",
        ),
        ("contrast_rank", "1", "share of 9 places whose c is below the candidate's"),
    ],
    symbols={
        "c": "c = mean of the disc of R - mean of 1..2 R",
        "mirror place": "mirror place: same row, mirrored at the midline between the lungs",
        "9 places": "9 places: grid of 7 mm around the mirror place",
    },
)


@dataclass(frozen=True, eq=False)
class Discs:
    """Grey levels (place, ray, rho) around places, and their summaries."""

    patch: NDArray[np.float64]

    @cached_property
    def disc(self) -> NDArray[np.float64]:
        """Mean within R, by area."""
        return weighted(self.patch, PATCH_RHO < 1.0)

    @cached_property
    def contrast(self) -> NDArray[np.float64]:
        """Mean within R minus mean of 1..2 R."""
        return self.disc - weighted(self.patch, PATCH_RHO > 1.0)

    @cached_property
    def centred(self) -> NDArray[np.float64]:
        """Patch minus its mean, by area."""
        return self.patch - weighted(self.patch, PATCH_RHO > 0.0)[:, None, None]

    @cached_property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviation within 2 R, by area."""
        return np.sqrt(weighted(self.centred**2, PATCH_RHO > 0.0))


def weighted(patch: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean by area over chosen radii."""
    weights = PATCH_RHO * where
    return patch.mean(axis=1) @ (weights / weights.sum())


def compute(context: Context) -> NDArray[np.float32]:
    """Difference of each candidate from its mirror place."""
    measurements = measured(context)
    n = measurements.n_candidates
    mirror = 2.0 * measurements.maps.midline - measurements.column
    here = discs_at(measurements, measurements.column, measurements.row, measurements.radius_px)
    shift_x, shift_y = (shift.ravel() / measurements.mm for shift in np.meshgrid(SHIFTS_MM, SHIFTS_MM))
    there = discs_at(
        measurements,
        (mirror[:, None] + shift_x).ravel(),
        (measurements.row[:, None] + shift_y).ravel(),
        np.repeat(measurements.radius_px, shift_x.size),
    )
    middle = shift_x.size // 2
    disc, contrast = there.disc.reshape(n, -1), there.contrast.reshape(n, -1)
    correlations = mirrored_correlation(here, there, shift_x.size)
    spreads = there.spread.reshape(n, -1)
    values = {
        "grey": here.disc - disc[:, middle],
        "contrast": here.contrast - contrast[:, middle],
        "spread": np.log((here.spread + NOISE_FLOOR) / (spreads[:, middle] + NOISE_FLOOR)),
        "correlation": correlations[:, middle],
        "best_grey": here.disc - disc.max(axis=1),
        "best_contrast": here.contrast - contrast.max(axis=1),
        "best_correlation": correlations.max(axis=1),
        "curvature": curvature_difference(measurements, mirror),
        "contrast_rank": (contrast < here.contrast[:, None] - EPSILON).mean(axis=1),
    }
    return columns(FEATURES, values, n)


def discs_at(
    measurements: Measurements,
    column: NDArray[np.float64],
    row: NDArray[np.float64],
    radius: NDArray[np.float64],
) -> Discs:
    """Sample discs of 2 R on the radiograph smoothed by 1 mm."""
    patch = _kernels.polar_grey(measurements.maps.base, column, row, radius, PATCH_RHO, rays(N_RAYS))
    return Discs(patch.astype(np.float64))


def mirrored_correlation(here: Discs, there: Discs, n_shifts: int) -> NDArray[np.float64]:
    """Correlation by area with the left-right mirrored patches: (candidate, shift)."""
    flipped = there.centred[:, (N_RAYS // 2 - np.arange(N_RAYS)) % N_RAYS]
    flipped = flipped.reshape(len(here.patch), n_shifts, N_RAYS, -1)
    weights = PATCH_RHO / (PATCH_RHO.sum() * N_RAYS)
    covariance = np.einsum("nkj,nskj->ns", here.centred * weights, flipped)
    spread = there.spread.reshape(len(here.patch), n_shifts)
    return covariance / (here.spread[:, None] * spread + EPSILON)


def curvature_difference(measurements: Measurements, mirror: NDArray[np.float64]) -> NDArray[np.float64]:
    """Smaller curvature at the candidate minus that at its mirror place, at the matched scale."""
    matched = measurements.radius_px * measurements.mm / np.sqrt(2.0)
    level = np.abs(np.log(np.array(SCALES_MM)[:, None] / matched)).argmin(axis=0)
    out = np.empty(measurements.n_candidates)
    for index in np.unique(level):
        chosen = level == index
        row, scale = measurements.row[chosen], SCALES_MM[index]
        image = measurements.maps.scale_space[index]
        here, there = (
            principal_curvatures(image, column, row, scale_px=scale / measurements.mm)[1][:, 0]
            for column in (measurements.column[chosen], mirror[chosen])
        )
        out[chosen] = here - there
    return out


SYMMETRY = Family(FEATURES, compute)
