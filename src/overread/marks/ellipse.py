"""Ellipses in millimetres and the exact area that two of them share.

Conventions: x to the right, y down, origin at the image's top-left corner; `angle_deg` is the direction of
the major axis, clockwise on screen from +x, in [0, 180).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from overread.errors import InvalidInputError
from overread.marks._kernels import overlap_many

__all__ = [
    "ELLIPSE_COLUMNS",
    "Ellipse",
    "equal_area_diameters",
    "normalized_ellipses",
    "overlap_area",
    "overlap_areas",
]

ELLIPSE_COLUMNS = ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg")
"""Columns of an ellipse, in the order of the arrays that `overlap_areas` takes."""


@dataclass(frozen=True)
class Ellipse:
    """An ellipse in mm; (a, b, angle) and (b, a, angle + 90) are one and the same.

    Attributes
    ----------
    x_mm, y_mm
        Centre.
    semi_major_mm, semi_minor_mm
        Semi-axes, the longer first; given the other way round they are swapped and the angle turned by 90.
    angle_deg
        Direction of the major axis, clockwise on screen from +x, brought to [0, 180); 0 for a circle.
    """

    x_mm: float
    y_mm: float
    semi_major_mm: float
    semi_minor_mm: float
    angle_deg: float = 0.0

    def __post_init__(self) -> None:
        rows = normalized_ellipses(
            [[self.x_mm, self.y_mm, self.semi_major_mm, self.semi_minor_mm, self.angle_deg]]
        )
        for name, value in zip(ELLIPSE_COLUMNS, rows[0].tolist(), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def from_box(cls, x_min_mm: float, y_min_mm: float, x_max_mm: float, y_max_mm: float) -> Self:
        """Ellipse inscribed in an upright box."""
        return cls(
            x_mm=0.5 * (x_min_mm + x_max_mm),
            y_mm=0.5 * (y_min_mm + y_max_mm),
            semi_major_mm=0.5 * (x_max_mm - x_min_mm),
            semi_minor_mm=0.5 * (y_max_mm - y_min_mm),
        )

    @property
    def area_mm2(self) -> float:
        """Area pi a b."""
        return math.pi * self.semi_major_mm * self.semi_minor_mm

    @property
    def diameter_mm(self) -> float:
        """Diameter 2 sqrt(a b) of the circle with the same area: the mark's size D of the paper."""
        return 2.0 * math.sqrt(self.semi_major_mm * self.semi_minor_mm)

    def box(self) -> tuple[float, float, float, float]:
        """Smallest upright box around the ellipse: x_min, y_min, x_max, y_max in mm."""
        c, s = math.cos(math.radians(self.angle_deg)), math.sin(math.radians(self.angle_deg))
        width = math.hypot(self.semi_major_mm * c, self.semi_minor_mm * s)
        height = math.hypot(self.semi_major_mm * s, self.semi_minor_mm * c)
        return self.x_mm - width, self.y_mm - height, self.x_mm + width, self.y_mm + height

    def outline(self, n_points: int = 64) -> NDArray[np.float64]:
        """Points on the ellipse, `(n_points, 2)`, evenly spaced in the parameter, first at the major axis."""
        t = np.linspace(0.0, 2.0 * np.pi, n_points, endpoint=False)
        c, s = math.cos(math.radians(self.angle_deg)), math.sin(math.radians(self.angle_deg))
        along, across = self.semi_major_mm * np.cos(t), self.semi_minor_mm * np.sin(t)
        return np.column_stack([self.x_mm + c * along - s * across, self.y_mm + s * along + c * across])


def normalized_ellipses(ellipses: ArrayLike) -> NDArray[np.float64]:
    """Bring rows (x, y, a, b, angle) to a >= b and 0 <= angle < 180, a circle's angle to 0.

    Raises
    ------
    InvalidInputError
        For a value that is not finite or a semi-axis not above 0; the message names the first such row.
    """
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


def equal_area_diameters(ellipses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equal-area diameter 2 sqrt(a b) of each row (x, y, a, b, angle)."""
    return np.asarray(2.0 * np.sqrt(ellipses[:, 2] * ellipses[:, 3]))


def overlap_areas(
    first: ArrayLike | Sequence[Ellipse], second: ArrayLike | Sequence[Ellipse]
) -> NDArray[np.float64]:
    """Overlap area in mm^2 of each row of `first` with the same row of `second`.

    The boundary of the overlap is cut at the roots of the intersection quartic, and Green's theorem,
    area = 1/2 (closed integral of x dy - y dx), sums its elliptic arcs. The result is exact up to rounding:
    the error is about 1e-15 of the larger area times the geometric mean of the two aspect ratios a / b.
    Swapping the two arguments gives the same bits.

    Parameters
    ----------
    first, second
        `(n, 5)` rows of x, y, semi-major, semi-minor in mm and angle in degrees, or sequences of `Ellipse`.
    """
    a, b = as_rows(first), as_rows(second)
    if len(a) != len(b):
        raise InvalidInputError(f"overlap needs as many first as second ellipses: got {len(a)} and {len(b)}")
    return overlap_many(a, b)


def overlap_area(first: Ellipse, second: Ellipse) -> float:
    """Overlap area of two ellipses in mm^2; see `overlap_areas`."""
    return float(overlap_areas([first], [second])[0])


def as_rows(ellipses: ArrayLike | Sequence[Ellipse]) -> NDArray[np.float64]:
    """Rows (x, y, a, b, angle) of ellipses given as objects or as an array."""
    if isinstance(ellipses, Sequence):
        ellipses = [astuple(e) if isinstance(e, Ellipse) else e for e in ellipses]
        if not ellipses:
            return np.empty((0, len(ELLIPSE_COLUMNS)))
    return normalized_ellipses(ellipses)
