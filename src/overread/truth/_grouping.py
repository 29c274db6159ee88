"""Grouping rules: ways to decide which marks of an image mean the same object.

A rule is a `GroupingRule`: a function from marks and their overlaps to groups, the option with its threshold, and the
default outline of its objects. Another package adds one by an entry point of the group ``overread.grouping_rules`` with
the name of the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from overread.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from overread.truth._mark_arrays import MarkArrays, Pairs
    from overread.truth._options import MergeOptions

ENTRY_POINTS = "overread.grouping_rules"
OWN = ("star", "components", "dbscan", "fusion", "linkage")
"""Names of the built-in rules in `overread.truth._rules`, which is imported later because it needs numba."""


@dataclass(frozen=True)
class GroupingRule:
    """A way to group the marks of an image and label.

    Attributes
    ----------
    name
        Name of the rule in ``[merging] method``.
    group
        Function of the marks, their overlapping pairs and the options; returns the group of each mark, from 0.
        Marks of different `MarkArrays.group` never share one.
    threshold
        Option that `threshold_curve` varies: a larger value joins fewer marks. None: the rule has no threshold.
    outline
        Default outline of the objects: "representative" or "mean".
    uses_pairs
        Whether `group` uses the pairs; otherwise they are not computed, which saves most of the time.
    """

    name: str
    group: Callable[[MarkArrays, Pairs, MergeOptions], NDArray[np.int64]]
    threshold: str | None = None
    outline: str = "representative"
    uses_pairs: bool = True


def list_rules() -> list[str]:
    """Names of all grouping rules, built-in ones first."""
    return [*OWN, *sorted({one.name for one in entry_points(group=ENTRY_POINTS)} - {*OWN})]


@cache
def find_rule(name: str) -> GroupingRule:
    """Load a grouping rule by its name.

    Raises
    ------
    InvalidInputError
        If there is no rule of this name.
    """
    require_rule(name)
    if name in OWN:
        from overread.truth._rules import RULES

        return next(rule for rule in RULES if rule.name == name)
    rule: GroupingRule = entry_points(group=ENTRY_POINTS)[name].load()
    if rule.name != name:
        raise InvalidInputError(
            f"the entry point {name!r} has a grouping rule named {rule.name!r}. Use the same name for both."
        )
    return rule


def require_rule(name: str) -> None:
    """Refuse an unknown name of a grouping rule without loading rules."""
    if name not in OWN and name not in list_rules():
        raise InvalidInputError(f"method {name!r} does not exist; use {' or '.join(list_rules())}")
