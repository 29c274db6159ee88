"""Options for merging marks and computing soft labels; the paper leaves these choices open."""

from dataclasses import dataclass, field, fields, replace
from typing import Literal, Self, get_args, get_type_hints

from overread.errors import InvalidInputError
from overread.tables import LengthUnit
from overread.truth._grouping import require_rule

FULL_SIZE_MM = 20.0
"""Size from which the adaptive threshold is t0: the paper's 20 mm."""


@dataclass(frozen=True)
class MergeOptions:
    """Options for merging marks into objects (paper, section 2.1).

    Attributes
    ----------
    method
        "star", the paper's rule: a seeding mark with all its remaining hitting marks. "components": connected
        components of the hitting marks; with threshold "fixed", t0 = 0 and same-reader hits it joins all touching
        marks, like pylidc. "dbscan": DBSCAN on the distance 1 - IoU, like panoptes_aggregation; noise gives objects of
        one mark. "fusion": marks join the running mean that they overlap most, as in weighted boxes fusion. "linkage":
        average linkage on the IoU, with at most one mark per reader in an object; it needs no unit of length.
    outline
        Ellipse of an object: "representative", the paper's mark of median size; or "mean", the mean of its marks, with
        columns for their spread. By default "mean" for fusion and linkage, otherwise "representative".
    size
        Size D of a mark: "equal_area" 2 sqrt(a b), "major_axis" 2 a, or "mean" a + b.
    size_fraction
        Definition of the size fraction: "size" min D / max D, or "area" the ratio of the areas.
    similar_size
        Two marks are similar if their size fraction is above this (the paper's 0.7) and their distance is small.
    similar_distance
        Two marks are similar if their centre distance over D is below this (the paper's 0.1) and their sizes are
        similar.
    distance_by
        The D of the pair that divides the centre distance: "max", "min" or their "mean".
    threshold
        "adaptive": T = min(t0, t0 / full_size * D), with D the larger size of a similar pair, otherwise the smaller.
        "fixed": T = t0.
    t0
        The paper's T_0 = 0.63.
    full_size
        Size from which the adaptive threshold is t0, in the unit of the marks. By default the paper's 20 mm; required
        for marks in another unit.
    same_reader_hits
        Whether two marks of one reader may hit each other.
    pair_representative
        The representative of an object of two marks: "random" by `seed`, or the "larger" or "smaller" by size.
    merge_coinciding
        Whether objects whose representatives hit each other are merged until none do ("star", "components").
    nested
        "votes": a mark that contains the centre of an object, or whose centre lies in the object, is a vote of its
        reader for the object, at any difference in size. "no", as in the paper: only the merged marks of an object are
        votes.
    labels
        "separate": marks with different labels never hit each other. "ignore": labels do not matter.
    dbscan_eps
        DBSCAN: largest distance 1 - IoU of neighbours.
    dbscan_min_marks
        DBSCAN: least number of marks within that distance of a core mark, including itself.
    fusion_iou
        IoU above which a mark joins a running mean.
    linkage_iou
        Mean IoU of the marks of two groups above which the groups are joined.
    seed
        Random seed of the representatives.
    """

    method: str = "star"
    outline: Literal["representative", "mean"] | None = field(default=None, metadata={"example": "mean"})
    size: Literal["equal_area", "major_axis", "mean"] = "equal_area"
    size_fraction: Literal["size", "area"] = "size"
    similar_size: float = 0.7
    similar_distance: float = 0.1
    distance_by: Literal["max", "min", "mean"] = "max"
    threshold: Literal["adaptive", "fixed"] = "adaptive"
    t0: float = 0.63
    full_size: float | None = field(default=None, metadata={"example": FULL_SIZE_MM})
    same_reader_hits: bool = False
    pair_representative: Literal["random", "larger", "smaller"] = "random"
    merge_coinciding: bool = True
    nested: Literal["no", "votes"] = "no"
    labels: Literal["separate", "ignore"] = "separate"
    # Half an overlap, and two marks as for a consensus object; set by judgement.
    dbscan_eps: float = 0.5
    dbscan_min_marks: int = 2
    # The default of weighted boxes fusion (Solovyev et al., 2021).
    fusion_iou: float = 0.55
    # The choice of held-out readers on CytoCrowd (benchmarks/results/truth_against_gold.json).
    linkage_iou: float = 0.25
    seed: int = 0

    def __post_init__(self) -> None:
        require_rule(self.method)
        _check_choices(self)
        for name in ("t0", "similar_size", "dbscan_eps", "fusion_iou", "linkage_iou"):
            _check_range(name, getattr(self, name), 0.0, 1.0)
        _check_range("similar_distance", self.similar_distance, 0.0, float("inf"))
        _check_range("dbscan_min_marks", self.dbscan_min_marks, 1, float("inf"))
        if self.full_size is not None and not 0.0 < self.full_size < float("inf"):
            raise InvalidInputError(f"full_size must be above 0 and finite, not {self.full_size}")

    @property
    def uses_full_size(self) -> bool:
        """Whether the threshold grows with the size of the marks, up to the full size."""
        return self.threshold == "adaptive" and self.method in ("star", "components")

    def in_unit(self, unit: LengthUnit) -> Self:
        """Return the options with the full size of marks in a unit.

        Raises
        ------
        InvalidInputError
            If it is needed and not given, and the unit is not mm.
        """
        if self.full_size is not None or not self.uses_full_size:
            return self
        if unit != "mm":
            raise InvalidInputError(
                f"full_size: marks are in {unit}, so the paper's 20 mm do not apply (give full_size in {unit}, "
                'threshold="fixed", or method="linkage", which needs no size)'
            )
        return replace(self, full_size=FULL_SIZE_MM)


@dataclass(frozen=True)
class LabelOptions:
    """Options for soft labels (paper, section 3).

    Attributes
    ----------
    n_min
        Smallest allowed number of readings per image. By default from the readings.
    n_max
        Largest allowed number of readings per image. By default from the readings.
    smallest_probability
        The paper's P0. By default 2 / n_max.
    depression
        Single-reader discount: the factor that lowers the soft label of an object with one reader (the paper's k_d =
        1/8).
    score
        "readers": number of different readers. "marks": number of marks, so that a reader who marked one lesion twice
        counts twice; the probability is then at most 1.
    """

    n_min: int | None = field(default=None, metadata={"example": 4})
    n_max: int | None = field(default=None, metadata={"example": 8})
    smallest_probability: float | None = field(default=None, metadata={"example": 0.25})
    depression: float = 0.125
    score: Literal["readers", "marks"] = "readers"

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_range("depression", self.depression, 0.0, 1.0)
        if self.smallest_probability is not None:
            _check_range("smallest_probability", self.smallest_probability, 0.0, 1.0)
        for name, value in (("n_min", self.n_min), ("n_max", self.n_max)):
            if value is not None and value < 1:
                raise InvalidInputError(f"{name} must be at least 1, not {value}")


def _check_choices(options: MergeOptions | LabelOptions) -> None:
    """Refuse a word that is not a choice of its option."""
    hints = get_type_hints(type(options))
    for option in fields(options):
        # The choices of an optional word are one level deeper, next to None.
        words = [get_args(part) or (part,) for part in get_args(hints[option.name])]
        choices = [word for part in words for word in part if isinstance(word, str)]
        value = getattr(options, option.name)
        if choices and value not in choices and value != option.default:
            raise InvalidInputError(f"{option.name} {value!r} does not exist; use {' or '.join(choices)}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside [low, high]; NaN is outside."""
    if not low <= value <= high:
        raise InvalidInputError(f"{name} must be in [{low:g}, {high:g}], not {value}")
