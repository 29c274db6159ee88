"""Hit rules: when a candidate hits an object.

Bags and FROC curves use the same rules, so that training and scoring agree. A rule is one small class; settings and
commands find rules in the registry. `docs/how-to/add_a_hit_rule.md` adds one.
"""

import sys
from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread.errors import InvalidInputError, TableError
from overread.marks import ELLIPSE_COLUMNS, equal_area_diameters, normalized_ellipses
from overread.tables import UNIT_WORDS, LengthUnit, name_lengths, plain, unit_of
from overread.truth._kernels import near_pairs

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Reaches are slightly enlarged, so that rounding never drops a hit on the rim.
SLACK = 1.0 + 1e-9
# A lung is some 250 mm high: larger distances or scales above ten are mistakes. Set by judgement.
LARGEST_MM, LARGEST_SCALE = 100.0, 10.0


@dataclass(frozen=True)
class RuleParameter:
    """A parameter of a rule; ``default`` is None without a default, ``example`` is a usual value."""

    name: str
    default: float | None
    description: str
    example: float


def rule_parameter(
    description: str,
    default: float | None = None,
    *,
    example: float | None = None,
    default_mm: float | None = None,
) -> Any:
    """Field of a rule with its help text; without a default it is required.

    A length with a default in mm has ``default_mm``, for which None stands; in px it is required.
    """
    kept = MISSING if default is None and default_mm is None else default
    shown = next((value for value in (example, default, default_mm) if value is not None), None)
    return field(
        default=kept,
        metadata={"description": description, "example": shown, "default_mm": default_mm},
    )


def _require(met: object, otherwise: str) -> None:
    if not met:
        raise InvalidInputError(f"hit rule: {otherwise}")


def _require_length(name: str, value: float, unit: LengthUnit | None) -> None:
    largest = LARGEST_MM if unit == "mm" else sys.float_info.max
    _require(0.0 <= value <= largest, f"{name} must be 0 to {LARGEST_MM:g} mm, not {value:g}")


@dataclass(frozen=True)
class HitRule(ABC):
    """When a candidate hits an object (GT) of the same image.

    Candidates are rows of the columns that the rule needs, GTs are rows x, y, a, b, angle with a >= b.

    Attributes
    ----------
    name
        Name of the rule in settings and commands.
    kind
        Name in fingerprints and locked operating points; the same for rules that differ only in defaults.
    columns
        Columns of a candidate that the rule needs; x and y come first.
    sentence
        Description for help and settings.
    unit
        Unit of its lengths; None: that of the tables.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ("x", "y")
    sentence: ClassVar[str]

    unit: LengthUnit | None = field(default=None, kw_only=True)

    def in_unit(self, unit: LengthUnit) -> Self:
        """Return the rule for tables in a unit, with default lengths filled in.

        Raises
        ------
        InvalidInputError
            If a length with a default in mm is not given and the unit is not mm; or if the rule is in another unit.
        """
        _require(self.unit in (None, unit), f"its lengths are in {self.unit}, those of the tables in {unit}")
        missing = {
            one.name: one.metadata["default_mm"]
            for one in fields(self)
            if one.metadata.get("default_mm") is not None and getattr(self, one.name) is None
        }
        for name, usual in missing.items():
            _require(unit == "mm", f"{name} is {usual:g} mm where lengths are in mm; give {name} in {unit}")
        return replace(self, unit=unit, **missing)

    @abstractmethod
    def reach(self, points: FloatArray, ellipses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Radii around candidates and GTs; centres farther apart than their sum never hit."""

    @abstractmethod
    def hits(self, points: FloatArray, ellipses: FloatArray) -> BoolArray:
        """Row by row, whether a candidate hits a GT."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the rule for a caption."""


@dataclass(frozen=True)
class EllipseHit(HitRule):
    """Hit if the candidate's centre lies in the GT's ellipse.

    The ellipse's semi-axes are first multiplied by ``scale``, then raised to at least ``min_semi_axis``, then
    widened by ``margin``.
    """

    name = "hit"
    kind = "ellipse"
    sentence = "the centre lies in the GT's ellipse, semi-axes at least 5 mm"

    scale: float = rule_parameter("Factor of the GT's semi-axes.", 1.0)
    # Set by judgement; `overread.froc.chance_level` measures hits by chance.
    min_semi_axis: float | None = rule_parameter(
        "Least semi-axis of the GT, after the factor.", default_mm=5.0
    )
    margin: float = rule_parameter("Margin added to the GT's semi-axes, after the minimum.", 0.0)

    def __post_init__(self) -> None:
        _require(0.0 < self.scale <= LARGEST_SCALE, f"scale must be above 0 and at most 10, not {self.scale}")
        for name, value in (("min_semi_axis", self.min_semi_axis), ("margin", self.margin)):
            if value is not None:
                _require_length(name, value, self.unit)

    def semi_axes(self, ellipses: FloatArray) -> FloatArray:
        """Semi-axes used for the test."""
        assert self.min_semi_axis is not None, "a rule in a unit"
        return np.asarray(np.maximum(self.scale * ellipses[:, 2:4], self.min_semi_axis) + self.margin)

    def reach(self, points: FloatArray, ellipses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Zero around a candidate, the longer semi-axis around a GT."""
        return np.zeros(len(points)), self.semi_axes(ellipses).max(axis=1, initial=0.0) * SLACK

    def hits(self, points: FloatArray, ellipses: FloatArray) -> BoolArray:
        """Whether the centre, turned to the ellipse's axes, lies in the ellipse."""
        dx, dy = points[:, 0] - ellipses[:, 0], points[:, 1] - ellipses[:, 1]
        axes = self.semi_axes(ellipses)
        angle = np.radians(ellipses[:, 4])
        along = (dx * np.cos(angle) + dy * np.sin(angle)) / axes[:, 0]
        across = (dy * np.cos(angle) - dx * np.sin(angle)) / axes[:, 1]
        return np.asarray(along**2 + across**2 <= 1.0)

    def describe(self) -> str:
        """Describe the semi-axes used for the test."""
        axes = "" if self.scale == 1.0 else f" times {self.scale:g}"
        rule = self.in_unit(self.unit or "mm")
        word = UNIT_WORDS[self.unit or "mm"]
        margin = "" if self.margin == 0.0 else f", widened by {self.margin:g} {word}"
        return f"centre in the GT's ellipse, semi-axes{axes} at least {rule.min_semi_axis:g} {word}{margin}"


@dataclass(frozen=True)
class StrictEllipseHit(EllipseHit):
    """As `EllipseHit`, with semi-axes halved and at least 4 mm by default."""

    name = "strict"
    sentence = "the same with semi-axes halved, at least 4 mm"

    # Set by judgement, for a hit in the middle of the GT.
    scale: float = rule_parameter("Factor of the GT's semi-axes.", 0.5)
    min_semi_axis: float | None = rule_parameter(
        "Least semi-axis of the GT, after the factor.", default_mm=4.0
    )


@dataclass(frozen=True)
class DistanceHit(HitRule):
    """Hit if the centres are at most ``max_distance`` apart."""

    name = "distance"
    kind = "distance"
    sentence = "the centres are at most max_distance apart"

    max_distance: float = rule_parameter("Largest distance of the centres.", example=10.0)

    def __post_init__(self) -> None:
        limit = self.max_distance
        _require(limit is not None and limit >= 0.0, f"kind 'distance' needs max_distance >= 0, not {limit}")
        _require_length("max_distance", limit, self.unit)

    def reach(self, points: FloatArray, ellipses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Zero around a candidate, the distance around a GT."""
        return np.zeros(len(points)), np.full(len(ellipses), self.max_distance * SLACK)

    def hits(self, points: FloatArray, ellipses: FloatArray) -> BoolArray:
        """Whether the centres are near enough."""
        dx, dy = points[:, 0] - ellipses[:, 0], points[:, 1] - ellipses[:, 1]
        return np.asarray(np.hypot(dx, dy) <= self.max_distance)

    def describe(self) -> str:
        """Describe the largest distance of the centres."""
        return f"centre at most {self.max_distance:g} {UNIT_WORDS[self.unit or 'mm']} from the GT's centre"


@dataclass(frozen=True)
class OverlapHit(HitRule):
    """S_ij / max(S_i, S_j) > ``min_overlap``: the paper's normalized intersection (section 2.1).

    S_i is the candidate's disc, S_j the GT's ellipse, S_ij their overlap.
    """

    name = "overlap"
    kind = "overlap"
    columns = ("x", "y", "radius")
    sentence = "the shared area over the larger one is above min_overlap"

    min_overlap: float = rule_parameter(
        "The shared area must exceed this share of the larger area; in [0, 1).", example=0.2
    )

    def __post_init__(self) -> None:
        least = self.min_overlap
        _require(
            least is not None and 0.0 <= least < 1.0,
            f"kind 'overlap' needs min_overlap in [0, 1), not {least}",
        )

    def reach(self, points: FloatArray, ellipses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Radius of the candidate, longer semi-axis of the GT."""
        return points[:, 2] * SLACK, ellipses[:, 2] * SLACK

    def hits(self, points: FloatArray, ellipses: FloatArray) -> BoolArray:
        """Whether the shared area is large enough."""
        from overread.marks import overlap_areas

        radius = points[:, 2]
        discs = np.column_stack([points[:, :2], radius, radius, np.zeros_like(radius)])
        larger = np.maximum(radius**2, ellipses[:, 2] * ellipses[:, 3]) * np.pi
        return np.asarray(overlap_areas(discs, ellipses) > self.min_overlap * larger)

    def describe(self) -> str:
        """Describe the least overlap."""
        return f"overlap over the larger area above {self.min_overlap:g}"


HIT_RULES: dict[str, type[HitRule]] = {
    rule.name: rule for rule in (EllipseHit, StrictEllipseHit, DistanceHit, OverlapHit)
}
"""Every rule by its name, in the order of the help."""


def hit_rule_parameters() -> dict[str, tuple[RuleParameter, ...]]:
    """Parameters of every rule by its name, for settings and commands."""
    return {
        name: tuple(
            RuleParameter(
                one.name,
                None if one.default is MISSING else one.default,
                one.metadata["description"],
                one.metadata["example"],
            )
            for one in fields(rule)
            if "description" in one.metadata
        )
        for name, rule in HIT_RULES.items()
    }


def make_hit_rule(name: str, **parameters: float | None) -> HitRule:
    """Make a rule by its name; a parameter that is None has the rule's default.

    Raises
    ------
    InvalidInputError
        For an unknown rule, a parameter of another rule, a missing parameter, or a value out of range.
    """
    if name not in HIT_RULES:
        *others, last = HIT_RULES
        raise InvalidInputError(f"hit rule {name!r} does not exist; use {', '.join(others)} or {last}")
    given = {key: value for key, value in parameters.items() if value is not None}
    own = [one.name for one in hit_rule_parameters()[name]]
    for key in given.keys() - set(own):
        raise InvalidInputError(f"hit rule {name!r} has no {key}; it has {', '.join(own) or 'no parameters'}")
    rule: Any = HIT_RULES[name]
    needed = {one.name: None for one in fields(rule) if one.default is MISSING}
    return rule(**needed | given)


HIT = EllipseHit()
"""Default: centre in the GT's ellipse, each semi-axis raised to at least 5 mm."""

STRICT_HIT = StrictEllipseHit()
"""Centre in the GT's ellipse with halved semi-axes, at least 4 mm."""


IntArray = NDArray[np.int64]


def candidate_hits(
    candidates: pd.DataFrame, truth: pd.DataFrame, rule: HitRule = HIT, *, unit: LengthUnit | None = None
) -> pd.DataFrame:
    """All pairs of a candidate and a GT of the same image that hit each other.

    Parameters
    ----------
    candidates
        image_id, and the columns that the rule needs: x_mm, y_mm, and radius_mm for "overlap" (or _px, _percent).
    truth
        Columns image_id, x_mm, y_mm, semi_major_mm, semi_minor_mm, angle_deg, in the same unit.
    rule
        The hit rule; for tables in px or percent its least semi-axis is required in that unit.
    unit
        Unit of lengths with plain names; None: from their names, or from the rule.

    Returns
    -------
    DataFrame
        candidate_row, truth_row: positions (not index labels) in the two tables, sorted by both; distance: distance of
        the centres over the GT's equal-area diameter 2 sqrt(a b), by which a candidate on two GTs is assigned to the
        nearer.
    """
    candidates, truth, unit = plain_pair(candidates, truth, unit or rule.unit)
    rule = rule.in_unit(unit)
    points = _numbers(candidates, "candidates", list(rule.columns), unit)
    if "radius" in rule.columns:
        radii = points[:, rule.columns.index("radius")]
        if len(wrong := np.flatnonzero(radii <= 0)):
            raise TableError(
                f"candidates need radius_{rule.unit} above 0 for the rule {rule.name}; "
                f"row {wrong[0]} has {radii[wrong[0]]:g}"
            )
    ellipses = normalized_ellipses(_numbers(truth, "truth", list(ELLIPSE_COLUMNS), unit))
    reach, truth_reach = rule.reach(points, ellipses)
    ids = pd.concat([candidates["image_id"], truth["image_id"]], ignore_index=True)
    codes = pd.factorize(ids, use_na_sentinel=False)[0].astype(np.int64)
    codes, truth_codes = codes[: len(candidates)], codes[len(candidates) :]
    rows, truth_rows = pairs_within_reach(codes, points, reach, truth_codes, ellipses, truth_reach)
    keep = rule.hits(points[rows], ellipses[truth_rows])
    rows, truth_rows = rows[keep], truth_rows[keep]
    order = np.lexsort((truth_rows, rows))
    rows, truth_rows = rows[order], truth_rows[order]
    offsets = points[rows, :2] - ellipses[truth_rows, :2]
    sizes = equal_area_diameters(ellipses[truth_rows])
    distance = np.hypot(offsets[:, 0], offsets[:, 1]) / sizes
    return pd.DataFrame({"candidate_row": rows, "truth_row": truth_rows, "distance": distance})


def plain_pair(
    candidates: pd.DataFrame, truth: pd.DataFrame, unit: LengthUnit | None
) -> tuple[pd.DataFrame, pd.DataFrame, LengthUnit]:
    """Return candidates and truth with plain names, and the unit that they share."""
    unit = unit or unit_of(candidates.columns, "candidates") or unit_of(truth.columns, "truth")
    candidates, _ = plain(candidates, unit, "candidates")
    return candidates, *plain(truth, unit, "truth")


def pairs_within_reach(
    codes: IntArray,
    points: FloatArray,
    reach: FloatArray,
    other_codes: IntArray,
    other_points: FloatArray,
    other_reach: FloatArray,
) -> tuple[IntArray, IntArray]:
    """Row numbers of the pairs within a group (equal code) no farther apart than the sum of their reaches."""
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


def _numbers(table: pd.DataFrame, name: str, columns: list[str], unit: LengthUnit) -> FloatArray:
    """Finite numbers of some columns of a table, as one array."""
    if "image_id" not in table:
        raise TableError(f"{name}: no column image_id")
    missing = [column for column in columns if column not in table]
    if missing:
        lengths, needed = (", ".join(name_lengths(names, unit)) for names in (missing, columns))
        raise TableError(f"{name}: no column {lengths}; it needs image_id, {needed}")
    values = table[columns].to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        shown = name_lengths(columns, unit)[column]
        raise TableError(f"{name}: row {row}, column {shown}: {values[row, column]} is not a finite number")
    return values
