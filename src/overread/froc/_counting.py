"""The counting convention: what a hit is, and what hits and misses count as.

Functions take it, commands and study settings are made from it (``docs/reference/froc.md`` has an example of each
choice).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args, get_type_hints

from overread.errors import InvalidInputError
from overread.froc._defaults import REPEATS, SINGLE_READER, SingleReader
from overread.truth import HIT, HitRule

# Fingerprints and locks hold every parameter of the first three rules, as one class had them all once, under the names
# that lengths had then, whatever their unit: files that are sealed have them.
RECORDED_PARAMETERS = {
    "scale": 1.0,
    "min_semi_axis_mm": 5.0,
    "margin_mm": 0.0,
    "max_distance_mm": None,
    "min_overlap": None,
}


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Hit rule, and how hits are counted.

    Attributes
    ----------
    rule : HitRule, optional
        When a candidate hits a GT; None where another tool matched them.
    single_reader : str, optional
        A candidate that hits only GTs of one reader: ``"ignore"`` counts it as nothing, ``"fp"`` as a false
        positive (the paper read literally), ``"hit"`` makes those GTs targets like the golden ones.
    extra_hits : {'ignore', 'fp'}, optional
        Of several candidates on one GT the best score counts; the others are nothing (``"ignore"``) or false
        positives (``"fp"``). A candidate that is the best of any of its GTs is never an extra one.
    shared_candidates : {'all', 'nearest'}, optional
        A candidate on several GTs finds ``"all"`` of them, or only the ``"nearest"`` (distance over size).
    repeats : {'suppress', 'count'}, optional
        A candidate that lies on a stronger one (non-maximum suppression) is not shown, so that it neither
        hits nor is a false positive (``"suppress"``), or counts like any other (``"count"``, as in the paper).
        Candidates without a radius have no size to lie on: none is suppressed.
    """

    rule: HitRule | None = field(default=HIT, metadata={"description": "What a hit is."})
    single_reader: SingleReader = field(
        default=SINGLE_READER,
        metadata={
            "description": "Candidates that hit only GTs of one reader: false positives, nothing, or hits."
        },
    )
    extra_hits: Literal["ignore", "fp"] = field(
        default="ignore",
        metadata={"description": "Further candidates on a GT that was found: nothing, or false positives."},
    )
    shared_candidates: Literal["all", "nearest"] = field(
        default="all",
        metadata={"description": "A candidate on several GTs finds all of them, or the nearest."},
    )

    repeats: Literal["suppress", "count"] = field(
        default=REPEATS,
        metadata={"description": "A detection that lies on a stronger one: not shown, or counted."},
    )

    def __post_init__(self) -> None:
        for name, allowed in self.choices().items():
            value = getattr(self, name)
            if value not in allowed:
                raise InvalidInputError(f"{name}={value!r}: use one of {', '.join(map(repr, allowed))}")

    @classmethod
    def choices(cls) -> dict[str, tuple[str, ...]]:
        """Values that each option other than the rule may have."""
        hints = get_type_hints(cls)
        return {one.name: get_args(hints[one.name]) for one in fields(cls) if one.name != "rule"}

    def rule_record(self) -> dict[str, Any] | None:
        """Plain record of the rule, for files and hashes."""
        if self.rule is None:
            return None
        own = asdict(self.rule.in_unit(self.rule.unit or "mm"))
        del own["unit"]
        named = {
            f"{name}_mm" if f"{name}_mm" in RECORDED_PARAMETERS else name: value
            for name, value in own.items()
        }
        return {"kind": self.rule.kind, **RECORDED_PARAMETERS, **named}

    def option_record(self) -> dict[str, str]:
        """Plain record of the options other than the rule, for files and hashes."""
        # Fingerprints and locks from before repeats were suppressed do not name the option.
        named = {name: getattr(self, name) for name in self.choices()}
        return {name: value for name, value in named.items() if (name, value) != ("repeats", "count")}
