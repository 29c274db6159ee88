"""An outline as an ellipse, and an ellipse as an outline, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from overread.errors import FormatError
from overread.marks.pixels import ellipses_of_matrices

__all__ = ["PixelEllipse", "ellipse_of_outline", "outline_of_ellipse"]

Floats = NDArray[np.float64]
LEAST_POINTS = 3
ON_THE_ELLIPSE = 1e-3


@dataclass(frozen=True)
class PixelEllipse:
    """Ellipse in pixels; the first semi-axis points along the angle, clockwise from +x on screen."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    angle_deg: float


def outline_of_ellipse(ellipse: PixelEllipse, points: int = 64) -> Floats:
    """Vertices at equal steps of t: centre + a cos t u + b sin t v; the last is not the first."""
    t = np.arange(points) * (2 * np.pi / points)
    angle = np.deg2rad(ellipse.angle_deg)
    along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    a, b = ellipse.semi_axes
    return np.asarray(ellipse.centre) + a * np.outer(np.cos(t), along) + b * np.outer(np.sin(t), across)


def ellipse_of_outline(points: Floats) -> PixelEllipse:
    """Ellipse of a closed outline.

    Vertices at equal steps of an ellipse's parameter have the covariance M M^T / 2, with M the matrix that
    takes the unit circle to the ellipse. If all vertices lie on the ellipse of that covariance, it is
    returned. Otherwise: the ellipse of the same area moments as the polygon (semi-axes 2 sqrt(eigenvalue)).
    """
    if len(points) < LEAST_POINTS:
        raise FormatError(f"an outline of {len(points)} points has no area")
    centre = points.mean(axis=0)
    shape = 2 * np.cov(points.T, bias=True)
    if np.linalg.det(shape) > 0:
        offset = points - centre
        level = np.einsum("ij,ji->i", offset, np.linalg.solve(shape, offset.T))
        if len(points) > LEAST_POINTS + 1 and np.abs(level - 1).max() < ON_THE_ELLIPSE:
            return of_second_moments(centre, shape)
    centre, covariance = polygon_moments(points)
    return of_second_moments(centre, 4 * covariance)


def of_second_moments(centre: Floats, shape: Floats) -> PixelEllipse:
    """Ellipse whose M M^T is given."""
    root = np.linalg.cholesky(shape)
    x, y, a, b, angle = ellipses_of_matrices([centre], [root])[0].tolist()
    return PixelEllipse((x, y), (a, b), angle)


def polygon_moments(points: Floats) -> tuple[Floats, Floats]:
    """Centroid and covariance of a polygon's area, by Green's theorem."""
    origin = points.mean(axis=0)
    x, y = (points - origin).T
    nx, ny = np.roll(x, -1), np.roll(y, -1)
    cross = x * ny - nx * y
    area = cross.sum() / 2
    if abs(area) < np.finfo(float).tiny:
        raise FormatError("an outline without area")
    cx, cy = ((x + nx) * cross).sum() / (6 * area), ((y + ny) * cross).sum() / (6 * area)
    xx = ((x * x + x * nx + nx * nx) * cross).sum() / (12 * area) - cx * cx
    yy = ((y * y + y * ny + ny * ny) * cross).sum() / (12 * area) - cy * cy
    xy = ((x * ny + 2 * x * y + 2 * nx * ny + nx * y) * cross).sum() / (24 * area) - cx * cy
    if xx * yy - xy * xy <= 0:
        raise FormatError("an outline that crosses itself or has no area")
    return origin + np.array([cx, cy]), np.array([[xx, xy], [xy, yy]])
