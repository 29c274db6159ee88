"""A batch of candidates with what several families measure around them, each computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from overread._text import short_repr
from overread.features._anatomy import Anatomy
from overread.features._arrays import F32, F64, Mask
from overread.features.context._channels import Channels, measure_channels
from overread.features.context._maps import SCALES_MM, ImageMaps
from overread.features.context._patches import Trend, cut_patches, fit_trend, ring_around
from overread.features.context._rays import (
    N_ANGLES,
    PER_RADIUS,
    RAYS,
    RHO,
    SECOND_RHO,
    SECOND_STEP_MM,
    outline_at,
    polar_first,
    polar_grey,
    polar_mask,
    polar_second,
)
from overread.features.context._shapes import Outlines, ray_lengths, shape_numbers
from overread.images import Radiograph

# Step in which the outline's radius along a ray is counted, in R. Set by judgement: a pixel of a radius of 20 mm.
OUTLINE_STEP = 1.0 / 30.0


@short_repr()
@dataclass(frozen=True, eq=False)
class Context:
    """A batch of candidates on one radiograph, with all inputs of the families.

    Measurements are attributes, computed when a family first asks for them.

    Parameters
    ----------
    maps : ImageMaps
        Maps of the radiograph, shared by all its batches.
    column, row : ndarray of float
        Centres of the candidates as array indices (pixel centres at whole numbers), float64.
    radius_px : ndarray of float
        Their radii in pixels of the grid, float64.
    outline : ndarray of bool
        Segmentation of each candidate as a boolean patch stack: (n, side, side), centred on the pixel nearest to
        the candidate; side is odd.
    """

    maps: ImageMaps
    column: F64
    row: F64
    radius_px: F64
    outline: Mask

    @property
    def radiograph(self) -> Radiograph:
        """The image."""
        return self.maps.radiograph

    @property
    def anatomy(self) -> Anatomy:
        """Lungs, ribs and other structures of the image."""
        return self.maps.anatomy

    @property
    def n_candidates(self) -> int:
        """Number of candidates in this batch."""
        return int(self.column.size)

    @property
    def mm(self) -> float:
        """Side of a pixel."""
        return self.radiograph.mm_per_px

    @cached_property
    def grey(self) -> F32:
        """Grey level on rays, smoothed by 1 mm."""
        return polar_grey(self.maps.base, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def fine_gradient(self) -> tuple[F32, F32]:
        """Derivatives along and across the rays of the radiograph smoothed by 1 mm."""
        return polar_first(self.maps.base, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def matched_gradient(self) -> tuple[F32, F32]:
        """Derivatives along and across every other ray, smoothed by the largest of 1.6, 2.5, 4 mm up to R / 3."""
        scales = SCALES_MM[:3]
        radius_mm = self.radius_px * self.mm
        level = np.maximum(np.searchsorted(scales, radius_mm / 3.0, side="right") - 1, 0)
        shape = (self.n_candidates, N_ANGLES // 2, 2 * PER_RADIUS)
        along, across = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        for index in range(len(scales)):
            chosen = level == index
            if chosen.any():
                along[chosen], across[chosen] = polar_first(
                    self.maps.scale_space[index],
                    self.column[chosen],
                    self.row[chosen],
                    self.radius_px[chosen],
                    RHO[: 2 * PER_RADIUS],
                    RAYS[::2],
                )
        return along, across

    @cached_property
    def curvature(self) -> tuple[F32, F32, F32]:
        """Second derivatives along, across and mixed, at 1 mm smoothing, per mm^2, at rho = 1/4 ... 10/4."""
        step = SECOND_STEP_MM / self.mm
        found = polar_second(self.maps.base, self.column, self.row, self.radius_px, SECOND_RHO, RAYS, step)
        scale = np.float32(1.0 / self.mm**2)
        return found[0] * scale, found[1] * scale, found[2] * scale

    @cached_property
    def inside(self) -> Mask:
        """Whether a point on a ray is inside the outline."""
        return outline_at(self.outline, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def in_lung(self) -> Mask:
        """Whether a point on a ray is inside a lung field."""
        return polar_mask(self.maps.lungs, self.column, self.row, self.radius_px, RHO, RAYS)

    @cached_property
    def outlines(self) -> Outlines:
        """Shape of the outlines."""
        radius = ray_lengths(self.outline, self.column, self.row, self.radius_px, RAYS, OUTLINE_STEP)
        return Outlines(shape_numbers(self.outline), radius)

    @cached_property
    def trend(self) -> Trend:
        """Grey level on rays without the trend of the ring around the outline."""
        return fit_trend(self.grey, ring_around(self.outlines.ray_radius, self.in_lung))

    @cached_property
    def patches(self) -> F32:
        """Patch around each candidate, with the margin that filters see: (candidate, CUT, CUT)."""
        return cut_patches(self.radiograph, self.column, self.row)

    @cached_property
    def channels(self) -> Channels:
        """Levels and first-order statistics of each patch's channels."""
        return measure_channels(self.patches)
