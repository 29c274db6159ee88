"""Ellipses and the exact overlap area of two of them.

Conventions: x to the right, y down, origin at the image's top-left corner; `angle_deg` is the direction of
the major axis, clockwise on screen from +x, in [0, 180).

Pixel (0, 0) covers [0, 1] x [0, 1] px, so its centre is at (0.5, 0.5) px and at half a spacing in mm. An ellipse is the
image of the unit circle under M = R(angle) diag(a, b). With S = diag(mm_per_px_x, mm_per_px_y) it becomes S M in mm,
again an ellipse, with the axes and angle of the symmetric matrix (S M)(S M)^T.
"""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import FormatError, InvalidInputError
from overread.marks._kernels import overlap_many

Floats = NDArray[np.float64]

ELLIPSE_COLUMNS = ("x", "y", "semi_major", "semi_minor", "angle_deg")
"""Columns of an ellipse, in the order of the arrays that `overlap_areas` takes."""


@dataclass(frozen=True)
class Ellipse:
    """An ellipse, in any unit; (a, b, angle) and (b, a, angle + 90) are equal.

    Attributes
    ----------
    x, y
        Centre.
    semi_major, semi_minor
        Semi-axes, the longer first; in the other order they are swapped and the angle is turned by 90.
    angle_deg
        Direction of the major axis, clockwise on screen from +x, in [0, 180); 0 for a circle.
    """

    x: float
    y: float
    semi_major: float
    semi_minor: float
    angle_deg: float = 0.0

    def __post_init__(self) -> None:
        for name, value in zip(
            ELLIPSE_COLUMNS, normalized_ellipses([astuple(self)])[0].tolist(), strict=True
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_box(cls, x_min: float, y_min: float, x_max: float, y_max: float) -> Self:
        """Ellipse inscribed in an upright box."""
        return cls(0.5 * (x_min + x_max), 0.5 * (y_min + y_max), 0.5 * (x_max - x_min), 0.5 * (y_max - y_min))

    @property
    def area(self) -> float:
        """Area pi a b."""
        return math.pi * self.semi_major * self.semi_minor

    @property
    def diameter(self) -> float:
        """Diameter 2 sqrt(a b) of the circle with the same area: the mark's size D of the paper."""
        return 2.0 * math.sqrt(self.semi_major * self.semi_minor)

    def box(self) -> tuple[float, float, float, float]:
        """Smallest upright box around the ellipse: x_min, y_min, x_max, y_max."""
        c, s = math.cos(math.radians(self.angle_deg)), math.sin(math.radians(self.angle_deg))
        width = math.hypot(self.semi_major * c, self.semi_minor * s)
        height = math.hypot(self.semi_major * s, self.semi_minor * c)
        return self.x - width, self.y - height, self.x + width, self.y + height

    def outline(self, n_points: int = 64) -> Floats:
        """Points on the ellipse, `(n_points, 2)`, evenly spaced in the parameter, first at the major axis."""
        t = np.linspace(0.0, 2.0 * np.pi, n_points, endpoint=False)
        c, s = math.cos(math.radians(self.angle_deg)), math.sin(math.radians(self.angle_deg))
        along, across = self.semi_major * np.cos(t), self.semi_minor * np.sin(t)
        return np.column_stack([self.x + c * along - s * across, self.y + s * along + c * across])


def normalized_ellipses(ellipses: ArrayLike) -> Floats:
    """Bring rows (x, y, a, b, angle) to a >= b and 0 <= angle < 180, a circle's angle to 0."""
    rows = np.array(ellipses, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(ELLIPSE_COLUMNS):
        raise InvalidInputError(
            f"ellipses need the shape (n, 5): {', '.join(ELLIPSE_COLUMNS)}; got {rows.shape}"
        )
    wrong = ~np.isfinite(rows)
    wrong[:, 2:4] |= ~(rows[:, 2:4] > 0.0)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InvalidInputError(
            f"ellipse {row}: {ELLIPSE_COLUMNS[column]} is {float(rows[row, column])!r};"
            " all five must be finite and the semi-axes above 0"
        )
    swapped = rows[:, 2] < rows[:, 3]
    rows[swapped, 2:4] = rows[swapped, 3:1:-1]
    rows[swapped, 4] += 90.0
    rows[:, 4] %= 180.0
    # a tiny negative angle modulo 180 rounds to 180 itself
    rows[(rows[:, 4] >= 180.0) | (rows[:, 2] == rows[:, 3]), 4] = 0.0
    return rows


def equal_area_diameters(ellipses: Floats) -> Floats:
    """Equal-area diameter 2 sqrt(a b) of each row (x, y, a, b, angle)."""
    return np.asarray(2.0 * np.sqrt(ellipses[:, 2] * ellipses[:, 3]))


def overlap_areas(first: ArrayLike | Sequence[Ellipse], second: ArrayLike | Sequence[Ellipse]) -> Floats:
    """Overlap area of each row of `first` with the same row of `second`.

    The boundary of the overlap is cut at the roots of the intersection quartic, and Green's theorem,
    area = 1/2 (closed integral of x dy - y dx), sums its elliptic arcs. The result is exact up to rounding:
    the error is about 1e-15 of the larger area times the geometric mean of the two aspect ratios a / b.
    Swapping the two arguments gives the same bits.

    Parameters
    ----------
    first, second
        `(n, 5)` rows of x, y, semi-major, semi-minor and angle in degrees, or sequences of `Ellipse`.
    """
    a, b = _as_rows(first), _as_rows(second)
    if len(a) != len(b):
        raise InvalidInputError(
            f"overlap needs equal numbers of first and second ellipses: got {len(a)} and {len(b)}"
        )
    return overlap_many(a, b)


def overlap_area(first: Ellipse, second: Ellipse) -> float:
    """Overlap area of two ellipses; see `overlap_areas`."""
    return float(overlap_areas([first], [second])[0])


def _as_rows(ellipses: ArrayLike | Sequence[Ellipse]) -> Floats:
    """Rows (x, y, a, b, angle) of ellipses given as objects or as an array."""
    if isinstance(ellipses, Sequence):
        ellipses = [astuple(e) if isinstance(e, Ellipse) else e for e in ellipses]
        if not ellipses:
            return np.empty((0, len(ELLIPSE_COLUMNS)))
    return normalized_ellipses(ellipses)


def rescale_ellipses(ellipses: ArrayLike, scale_x: ArrayLike, scale_y: ArrayLike) -> Floats:
    """Scale rows (x, y, a, b, angle): from px to mm with the spacings, from mm to px with their inverses."""
    rows = normalized_ellipses(ellipses)
    sx, sy = np.broadcast_to(scale_x, len(rows)), np.broadcast_to(scale_y, len(rows))
    x, y, a, b, angle = rows.T
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    matrices = np.array([[sx * a * cos, -sx * b * sin], [sy * a * sin, sy * b * cos]])
    result = ellipses_of_matrices(np.column_stack([x * sx, y * sy]), np.moveaxis(matrices, 2, 0))
    even = sx == sy  # then nothing turns, and axes and angle stay exact
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


LEAST_POINTS = 3
ON_THE_ELLIPSE = 1e-3


class DrawnEllipse(NamedTuple):
    """Ellipse as in a file; the first semi-axis, longer or not, points along the angle."""

    centre: tuple[float, float]
    semi_axes: tuple[float, float]
    angle_deg: float = 0.0

    @classmethod
    def fill_box(cls, left: float, top: float, right: float, bottom: float) -> Self:
        """Fill an upright box."""
        return cls(((left + right) / 2, (top + bottom) / 2), ((right - left) / 2, (bottom - top) / 2))


def ellipse_of_outline(points: Floats) -> DrawnEllipse:
    """Ellipse of a closed outline.

    Vertices at equal steps of an ellipse's parameter have the covariance M M^T / 2, with M the matrix that maps the
    unit circle to the ellipse. If all vertices lie on the ellipse of that covariance, it is returned. Otherwise: the
    ellipse of the same area moments as the polygon (semi-axes 2 sqrt(eigenvalue)).
    """
    if len(points) < LEAST_POINTS:
        raise FormatError(f"an outline of {len(points)} points has no area")
    centre = points.mean(axis=0)
    shape = 2 * np.cov(points.T, bias=True)
    if np.linalg.det(shape) > 0:
        offset = points - centre
        level = np.einsum("ij,ji->i", offset, np.linalg.solve(shape, offset.T))
        if len(points) > LEAST_POINTS + 1 and np.abs(level - 1).max() < ON_THE_ELLIPSE:
            return _ellipse_of_shape(centre, shape)
    centre, covariance = _polygon_moments(points)
    return _ellipse_of_shape(centre, 4 * covariance)


def _ellipse_of_shape(centre: Floats, shape: Floats) -> DrawnEllipse:
    """Ellipse with a given M M^T."""
    x, y, a, b, angle = ellipses_of_matrices([centre], [np.linalg.cholesky(shape)])[0].tolist()
    return DrawnEllipse((x, y), (a, b), angle)


def _polygon_moments(points: Floats) -> tuple[Floats, Floats]:
    """Centroid and covariance of a polygon's area, by Green's theorem."""
    origin = points.mean(axis=0)
    x, y = (points - origin).T
    nx, ny = np.roll(x, -1), np.roll(y, -1)
    cross = x * ny - nx * y
    area = cross.sum() / 2
    if abs(area) < np.finfo(float).tiny:
        raise FormatError("an outline has no area")
    cx, cy = ((x + nx) * cross).sum() / (6 * area), ((y + ny) * cross).sum() / (6 * area)
    xx = ((x * x + x * nx + nx * nx) * cross).sum() / (12 * area) - cx * cx
    yy = ((y * y + y * ny + ny * ny) * cross).sum() / (12 * area) - cy * cy
    xy = ((x * ny + 2 * x * y + 2 * nx * ny + nx * y) * cross).sum() / (24 * area) - cx * cy
    if xx * yy - xy * xy <= 0:
        raise FormatError("an outline that crosses itself or has no area")
    return origin + np.array([cx, cy]), np.array([[xx, xy], [xy, yy]])
