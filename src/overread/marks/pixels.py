r"""Ellipses between pixels and millimetres, exactly, also where pixels are not square.

Pixel (0, 0) covers [0, 1] x [0, 1] px, so its centre is at (0.5, 0.5) px and at half a spacing in mm. An
ellipse is the image of the unit circle under M = R(angle) diag(a, b). With S = diag(mm_per_px_x, mm_per_px_y)
it becomes S M in mm, which is again an ellipse, of other axes and another angle: those of the symmetric
matrix (S M)(S M)^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["EllipseArrays", "canonical", "from_matrix", "rescaled"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EllipseArrays:
    """Ellipses as arrays of one length; the angle is the major axis', clockwise from +x on screen."""

    x: Floats
    y: Floats
    semi_major: Floats
    semi_minor: Floats
    angle_deg: Floats


def canonical(x: ArrayLike, y: ArrayLike, a: ArrayLike, b: ArrayLike, angle_deg: ArrayLike) -> EllipseArrays:
    """Order the semi-axes and bring the angle to [0, 180): (a, b, t) and (b, a, t + 90) are one ellipse."""
    first, second, angle = (np.asarray(value, float) for value in (a, b, angle_deg))
    swapped = second > first
    turned = np.where(swapped, angle + 90.0, angle) % 180.0
    # A tiny negative angle modulo 180 rounds to 180 itself.
    turned = np.where(turned >= 180.0, 0.0, turned)
    return EllipseArrays(
        np.asarray(x, float),
        np.asarray(y, float),
        np.where(swapped, second, first),
        np.where(swapped, first, second),
        turned,
    )


def rescaled(ellipses: EllipseArrays, scale_x: ArrayLike, scale_y: ArrayLike) -> EllipseArrays:
    """Scale the plane: from px to mm with the spacings, from mm to px with their inverses."""
    sx, sy = np.asarray(scale_x, float), np.asarray(scale_y, float)
    theta = np.deg2rad(ellipses.angle_deg)
    cos, sin = np.cos(theta), np.sin(theta)
    turned = from_matrix(
        ellipses.x * sx,
        ellipses.y * sy,
        sx * ellipses.semi_major * cos,
        -sx * ellipses.semi_minor * sin,
        sy * ellipses.semi_major * sin,
        sy * ellipses.semi_minor * cos,
    )
    even = sx == sy  # then nothing turns, and no digit of the axes and the angle need be lost
    kept = canonical(
        turned.x, turned.y, ellipses.semi_major * sx, ellipses.semi_minor * sx, ellipses.angle_deg
    )
    return EllipseArrays(
        turned.x,
        turned.y,
        np.where(even, kept.semi_major, turned.semi_major),
        np.where(even, kept.semi_minor, turned.semi_minor),
        np.where(even, kept.angle_deg, turned.angle_deg),
    )


def from_matrix(
    x: ArrayLike, y: ArrayLike, m11: ArrayLike, m12: ArrayLike, m21: ArrayLike, m22: ArrayLike
) -> EllipseArrays:
    """Ellipses that are the unit circle's image under [[m11, m12], [m21, m22]], moved to (x, y).

    With [[p, q], [q, r]] = M M^T: the angle is atan2(2q, p - r)/2, the semi-major axis the root of the larger
    eigenvalue, the semi-minor axis |det M| over it, which keeps its digits in thin ellipses.
    """
    a, b, c, d = (np.asarray(value, float) for value in (m11, m12, m21, m22))
    p, q, r = a * a + b * b, a * c + b * d, c * c + d * d
    major = np.sqrt((p + r) / 2 + np.hypot((p - r) / 2, q))
    determinant = np.abs(a * d - b * c)
    minor = np.divide(determinant, major, out=np.zeros_like(major), where=major > 0)
    angle = np.rad2deg(np.arctan2(2 * q, p - r)) / 2
    return canonical(x, y, major, np.minimum(minor, major), angle)
