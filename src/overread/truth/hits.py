"""The one rule of what hits what between candidates and ground-truth objects.

Bags and FROC curves both ask it, so that training and scoring agree on what a detection is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError, TableError
from overread.marks.ellipse import ELLIPSE_COLUMNS, equal_area_diameters, normalized_ellipses, overlap_areas
from overread.truth._kernels import near_pairs

__all__ = ["HIT", "STRICT_HIT", "HitRule", "candidate_hits"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def require(met: object, otherwise: str) -> None:
    """Raise an error about a hit rule unless its condition is met."""
    if not met:
        raise InvalidInputError(f"hit rule: {otherwise}")


@dataclass(frozen=True)
class HitRule:
    """When a candidate hits a ground-truth object (GT) of the same image.

    Attributes
    ----------
    kind
        "ellipse": the candidate's centre lies in the GT's ellipse, its semi-axes first multiplied by `scale`,
        then raised to at least `min_semi_axis_mm`, then widened by `margin_mm`.
        "distance": the centres are at most `max_distance_mm` apart.
        "overlap": S_ij / max(S_i, S_j) > `min_overlap`, where S_i is the candidate's disc of `radius_mm`, S_j
        the GT's ellipse and S_ij what they share (the paper's normalized intersection, section 2.1).
    scale, min_semi_axis_mm, margin_mm
        Of "ellipse".
    max_distance_mm
        Of "distance", which needs it.
    min_overlap
        Of "overlap", which needs it; in [0, 1).
    """

    kind: Literal["ellipse", "distance", "overlap"] = "ellipse"
    scale: float = 1.0
    min_semi_axis_mm: float = 5.0
    margin_mm: float = 0.0
    max_distance_mm: float | None = None
    min_overlap: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("ellipse", "distance", "overlap"):
            raise InvalidInputError(
                f"hit rule {self.kind!r} does not exist; use ellipse, distance or overlap"
            )
        if self.kind == "ellipse":
            require(self.scale > 0.0, f"scale must be above 0, not {self.scale}")
            require(
                self.min_semi_axis_mm >= 0.0,
                f"min_semi_axis_mm must not be negative: {self.min_semi_axis_mm}",
            )
            require(self.margin_mm >= 0.0, f"margin_mm must not be negative: {self.margin_mm}")
        elif self.kind == "distance":
            limit = self.max_distance_mm
            require(
                limit is not None and limit >= 0.0, f"kind 'distance' needs max_distance_mm >= 0, not {limit}"
            )
        else:
            least = self.min_overlap
            require(
                least is not None and 0.0 <= least < 1.0,
                f"kind 'overlap' needs min_overlap in [0, 1), not {least}",
            )

    def describe(self) -> str:
        """Text of the rule for a caption."""
        if self.kind == "distance":
            return f"centre at most {self.max_distance_mm:g} mm from the GT's centre"
        if self.kind == "overlap":
            return f"overlap over the larger area above {self.min_overlap:g}"
        axes = "" if self.scale == 1.0 else f" times {self.scale:g}"
        margin = "" if self.margin_mm == 0.0 else f", widened by {self.margin_mm:g} mm"
        return f"centre in the GT's ellipse, semi-axes{axes} at least {self.min_semi_axis_mm:g} mm{margin}"


HIT = HitRule()
"""Default: centre in the GT's ellipse, each semi-axis raised to at least 5 mm."""

STRICT_HIT = HitRule(scale=0.5, min_semi_axis_mm=4.0)
"""Centre in the GT's ellipse with halved semi-axes, at least 4 mm."""


def candidate_hits(candidates: pd.DataFrame, truth: pd.DataFrame, rule: HitRule = HIT) -> pd.DataFrame:
    """All pairs of a candidate and a GT of the same image that hit each other.

    Parameters
    ----------
    candidates
        Columns image_id, x_mm, y_mm, and radius_mm for the rule "overlap".
    truth
        Columns image_id, x_mm, y_mm, semi_major_mm, semi_minor_mm, angle_deg.
    rule
        What counts as a hit.

    Returns
    -------
    DataFrame
        candidate_row, truth_row: positions (not index labels) in the two tables, sorted by both;
        distance: distance of the centres over the GT's equal-area diameter 2 sqrt(a b), by which a candidate
        on two GTs goes to the nearer.
    """
    needed = ["x_mm", "y_mm", *(["radius_mm"] if rule.kind == "overlap" else [])]
    points = numbers(candidates, "candidates", needed)
    if rule.kind == "overlap" and not (points[:, 2] > 0).all():
        row = int(np.flatnonzero(points[:, 2] <= 0)[0])
        raise TableError(
            f"candidates need radius_mm above 0 for the rule overlap; row {row} has {points[row, 2]:g}"
        )
    ellipses = normalized_ellipses(numbers(truth, "truth", list(ELLIPSE_COLUMNS)))
    reach, truth_reach = hit_reach(points, ellipses, rule)
    codes, truth_codes = image_codes(candidates, truth)
    rows, truth_rows = pairs_within_reach(codes, points, reach, truth_codes, ellipses, truth_reach)
    keep = does_hit(points[rows], ellipses[truth_rows], rule)
    rows, truth_rows = rows[keep], truth_rows[keep]
    order = np.lexsort((truth_rows, rows))
    rows, truth_rows = rows[order], truth_rows[order]
    offsets = points[rows, :2] - ellipses[truth_rows, :2]
    sizes = equal_area_diameters(ellipses[truth_rows])
    distance = np.hypot(offsets[:, 0], offsets[:, 1]) / sizes
    return pd.DataFrame({"candidate_row": rows, "truth_row": truth_rows, "distance": distance})


def does_hit(points: FloatArray, ellipses: FloatArray, rule: HitRule) -> NDArray[np.bool_]:
    """Row by row, whether a candidate (x, y and maybe radius) hits a GT."""
    dx, dy = points[:, 0] - ellipses[:, 0], points[:, 1] - ellipses[:, 1]
    if rule.max_distance_mm is not None and rule.kind == "distance":
        return np.asarray(np.hypot(dx, dy) <= rule.max_distance_mm)
    if rule.min_overlap is not None and rule.kind == "overlap":
        radius = points[:, 2]
        discs = np.column_stack([points[:, :2], radius, radius, np.zeros_like(radius)])
        larger = np.maximum(radius**2, ellipses[:, 2] * ellipses[:, 3]) * np.pi
        return np.asarray(overlap_areas(discs, ellipses) > rule.min_overlap * larger)
    axes = raised_axes(ellipses, rule)
    angle = np.radians(ellipses[:, 4])
    along = (dx * np.cos(angle) + dy * np.sin(angle)) / axes[:, 0]
    across = (dy * np.cos(angle) - dx * np.sin(angle)) / axes[:, 1]
    return np.asarray(along**2 + across**2 <= 1.0)


def raised_axes(ellipses: FloatArray, rule: HitRule) -> FloatArray:
    """Semi-axes that the rule "ellipse" tests."""
    return np.asarray(np.maximum(rule.scale * ellipses[:, 2:4], rule.min_semi_axis_mm) + rule.margin_mm)


def hit_reach(points: FloatArray, ellipses: FloatArray, rule: HitRule) -> tuple[FloatArray, FloatArray]:
    """Radii around candidates and GTs outside whose sum no hit is possible."""
    # a little more than exact, so that rounding never drops a hit on the rim
    slack = 1.0 + 1e-9
    if rule.kind == "overlap":
        return points[:, 2] * slack, ellipses[:, 2] * slack
    if rule.max_distance_mm is not None and rule.kind == "distance":
        return np.zeros(len(points)), np.full(len(ellipses), rule.max_distance_mm * slack)
    return np.zeros(len(points)), raised_axes(ellipses, rule).max(axis=1, initial=0.0) * slack


def pairs_within_reach(
    codes: IntArray,
    points: FloatArray,
    reach: FloatArray,
    other_codes: IntArray,
    other_points: FloatArray,
    other_reach: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Row numbers of the pairs of one group (equal code) not farther apart than the sum of their reaches."""
    n_groups = 1 + max(codes.max(initial=-1), other_codes.max(initial=-1))
    order, other_order = np.argsort(codes, kind="stable"), np.argsort(other_codes, kind="stable")
    groups = np.arange(n_groups + 1)
    rows, others = near_pairs(
        np.searchsorted(codes[order], groups),
        np.ascontiguousarray(points[order, :2]),
        reach[order],
        np.searchsorted(other_codes[other_order], groups),
        np.ascontiguousarray(other_points[other_order, :2]),
        other_reach[other_order],
    )
    return order[rows], other_order[others]


def image_codes(first: pd.DataFrame, second: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Integer code of each row's image, the same in both tables."""
    for name, table in (("candidates", first), ("truth", second)):
        if "image_id" not in table:
            raise TableError(f"{name}: no column image_id")
    ids = pd.concat([first["image_id"], second["image_id"]], ignore_index=True)
    codes, _ = pd.factorize(ids, use_na_sentinel=False)
    codes = codes.astype(np.int64)
    return codes[: len(first)], codes[len(first) :]


def numbers(table: pd.DataFrame, name: str, columns: list[str]) -> FloatArray:
    """Finite numbers of some columns of a table, as one array."""
    missing = [column for column in columns if column not in table]
    if missing:
        raise TableError(f"{name}: no column {', '.join(missing)}; it needs image_id, {', '.join(columns)}")
    values = table[columns].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise TableError(
            f"{name}: row {row}, column {columns[column]}: {values[row, column]} is not a finite number"
        )
    return values
