r"""Ellipses between pixels and millimetres, exactly, also where pixels are not square.

Pixel (0, 0) covers [0, 1] x [0, 1] px, so its centre is at (0.5, 0.5) px and at half a spacing in mm. An
ellipse is the image of the unit circle under M = R(angle) diag(a, b). With S = diag(mm_per_px_x, mm_per_px_y)
it becomes S M in mm, which is again an ellipse, of other axes and another angle: those of the symmetric
matrix (S M)(S M)^T. Ellipses are rows (x, y, a, b, angle), as in `overread.marks.ellipse`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.marks.ellipse import normalized_ellipses

__all__ = ["ellipses_of_matrices", "rescale_ellipses"]

Floats = NDArray[np.float64]


def rescale_ellipses(ellipses: ArrayLike, scale_x: ArrayLike, scale_y: ArrayLike) -> Floats:
    """Scale the plane: from px to mm with the spacings, from mm to px with their inverses.

    Parameters
    ----------
    ellipses : array_like of shape (n, 5)
        Rows (x, y, a, b, angle_deg).
    scale_x, scale_y : float or array_like of shape (n,)
        Factors of each row.

    Returns
    -------
    numpy.ndarray of shape (n, 5)
        Rows with a >= b and 0 <= angle < 180.
    """
    rows = normalized_ellipses(ellipses)
    sx, sy = np.broadcast_to(scale_x, len(rows)), np.broadcast_to(scale_y, len(rows))
    x, y, a, b, angle = rows.T
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    matrices = np.array([[sx * a * cos, -sx * b * sin], [sy * a * sin, sy * b * cos]])
    result = ellipses_of_matrices(np.column_stack([x * sx, y * sy]), np.moveaxis(matrices, 2, 0))
    even = sx == sy  # then nothing turns, and no digit of the axes and the angle need be lost
    result[even, 2:] = np.column_stack([a * sx, b * sx, angle])[even]
    return result


def ellipses_of_matrices(centres: ArrayLike, matrices: ArrayLike) -> Floats:
    """Ellipses that are the unit circle's images under 2 x 2 matrices M, moved to the centres.

    With [[p, q], [q, r]] = M M^T: the angle is atan2(2q, p - r)/2, the semi-major axis the root of the larger
    eigenvalue, the semi-minor axis |det M| over it, which keeps its digits in thin ellipses.
    """
    (a, b), (c, d) = np.moveaxis(np.asarray(matrices, float), 0, 2)
    p, q, r = a * a + b * b, a * c + b * d, c * c + d * d
    major = np.sqrt((p + r) / 2 + np.hypot((p - r) / 2, q))
    minor = np.minimum(np.abs(a * d - b * c) / major, major)
    angle = np.rad2deg(np.arctan2(2 * q, p - r)) / 2
    return normalized_ellipses(np.column_stack([centres, major, minor, angle]))
