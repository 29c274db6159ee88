"""The one rule of what hits what between candidates and ground-truth objects.

Bags and FROC curves both ask it, so that training and scoring agree on what a detection is.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import TableError
from overread.marks.ellipse import ELLIPSE_COLUMNS, equal_area_diameters, normalized_ellipses
from overread.truth._kernels import near_pairs
from overread.truth.hit_rules import HIT, HitRule

__all__ = ["candidate_hits", "pairs_within_reach"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def candidate_hits(candidates: pd.DataFrame, truth: pd.DataFrame, rule: HitRule = HIT) -> pd.DataFrame:
    """All pairs of a candidate and a GT of the same image that hit each other.

    Parameters
    ----------
    candidates
        image_id, and the columns that the rule asks for: x_mm, y_mm, and radius_mm for "overlap".
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
    points = _numbers(candidates, "candidates", list(rule.columns))
    _require_radii(points, rule)
    ellipses = normalized_ellipses(_numbers(truth, "truth", list(ELLIPSE_COLUMNS)))
    reach, truth_reach = rule.reach(points, ellipses)
    codes, truth_codes = _image_codes(candidates, truth)
    rows, truth_rows = pairs_within_reach(codes, points, reach, truth_codes, ellipses, truth_reach)
    keep = rule.hits(points[rows], ellipses[truth_rows])
    rows, truth_rows = rows[keep], truth_rows[keep]
    order = np.lexsort((truth_rows, rows))
    rows, truth_rows = rows[order], truth_rows[order]
    offsets = points[rows, :2] - ellipses[truth_rows, :2]
    sizes = equal_area_diameters(ellipses[truth_rows])
    distance = np.hypot(offsets[:, 0], offsets[:, 1]) / sizes
    return pd.DataFrame({"candidate_row": rows, "truth_row": truth_rows, "distance": distance})


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


def _require_radii(points: FloatArray, rule: HitRule) -> None:
    """Refuse a radius that is not above 0, where the rule asks for radii."""
    if "radius_mm" not in rule.columns:
        return
    radii = points[:, rule.columns.index("radius_mm")]
    if not (radii > 0).all():
        row = int(np.flatnonzero(radii <= 0)[0])
        raise TableError(
            f"candidates need radius_mm above 0 for the rule {rule.name}; row {row} has {radii[row]:g}"
        )


def _image_codes(first: pd.DataFrame, second: pd.DataFrame) -> tuple[IntArray, IntArray]:
    """Integer code of each row's image, the same in both tables."""
    for name, table in (("candidates", first), ("truth", second)):
        if "image_id" not in table:
            raise TableError(f"{name}: no column image_id")
    ids = pd.concat([first["image_id"], second["image_id"]], ignore_index=True)
    codes, _ = pd.factorize(ids, use_na_sentinel=False)
    codes = codes.astype(np.int64)
    return codes[: len(first)], codes[len(first) :]


def _numbers(table: pd.DataFrame, name: str, columns: list[str]) -> FloatArray:
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
