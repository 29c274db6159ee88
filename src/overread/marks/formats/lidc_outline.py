"""CT outlines of a nodule as one ellipse in the coronal plane, in which a chest radiograph would show it.

In each slice, the outline covers the columns from its first to its last pixel, both whole, over the slice's
height. The silhouette of the nodule is the union of these rectangles, and its mark the ellipse of the same
first and second moments: semi-axes 2 sqrt(eigenvalue) of the covariance. x runs along the image's columns
from the left edge of the first; y runs down, so y = -z, where z grows towards the head. Pixel k covers [k, k
+ 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["CoronalEllipse", "SliceExtent", "coronal_ellipse"]


@dataclass(frozen=True)
class SliceExtent:
    """Columns that an outline covers in one slice, both included, and the slice's position in mm."""

    first_column: float
    last_column: float
    z_mm: float


@dataclass(frozen=True)
class CoronalEllipse:
    """Ellipse in mm: x along the columns, y downwards."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    angle_deg: float


def coronal_ellipse(extents: list[SliceExtent], *, mm_per_px: float, slice_mm: float) -> CoronalEllipse:
    """Ellipse with the moments of the silhouette.

    Parameters
    ----------
    extents : list of SliceExtent
        Outlines; in one slice, those that share columns cover them once.
    mm_per_px : float
        Spacing of the columns.
    slice_mm : float
        Distance between slices.
    """
    rows = join_extents(extents)
    left, right = rows[:, 0] * mm_per_px, (rows[:, 1] + 1) * mm_per_px
    width, x, y = right - left, (left + right) / 2, -rows[:, 2]
    area = width * slice_mm
    weight = area / area.sum()
    centre_x, centre_y = float(weight @ x), float(weight @ y)
    xx = float(weight @ (width**2 / 12 + (x - centre_x) ** 2))
    yy = float(weight @ (slice_mm**2 / 12 + (y - centre_y) ** 2))
    xy = float(weight @ ((x - centre_x) * (y - centre_y)))
    spread = float(np.hypot((xx - yy) / 2, xy))
    larger = (xx + yy) / 2 + spread
    smaller = (xx * yy - xy * xy) / larger
    angle = float(np.rad2deg(np.arctan2(2 * xy, xx - yy))) / 2
    return CoronalEllipse((centre_x, centre_y), (2 * larger**0.5, 2 * smaller**0.5), angle)


def join_extents(extents: list[SliceExtent]) -> NDArray[np.float64]:
    """Rows of first column, last column, z; extents of one slice that share a column are one row."""
    rows: list[list[float]] = []
    for extent in sorted(extents, key=lambda extent: (extent.z_mm, extent.first_column)):
        if rows and rows[-1][2] == extent.z_mm and extent.first_column <= rows[-1][1] + 1:
            rows[-1][1] = max(rows[-1][1], extent.last_column)
        else:
            rows.append([extent.first_column, extent.last_column, extent.z_mm])
    return np.array(rows)
