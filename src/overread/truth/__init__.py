"""Marks of many readers -> ground-truth objects with soft labels; reader statistics; what hits what.

Only the options are imported at once: the commands show them in their help, which needs no pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from overread.truth.options import LabelOptions, MergeOptions

if TYPE_CHECKING:
    from overread.truth.hit_rules import (
        HIT,
        HIT_RULES,
        STRICT_HIT,
        DistanceHit,
        EllipseHit,
        HitRule,
        OverlapHit,
        hit_rule_parameters,
        make_hit_rule,
    )
    from overread.truth.hits import candidate_hits
    from overread.truth.labels import soft_labels
    from overread.truth.merging import merge_marks
    from overread.truth.readers import ReaderStatistics, reader_statistics

__all__ = [
    "HIT",
    "HIT_RULES",
    "STRICT_HIT",
    "DistanceHit",
    "EllipseHit",
    "HitRule",
    "LabelOptions",
    "MergeOptions",
    "OverlapHit",
    "ReaderStatistics",
    "candidate_hits",
    "hit_rule_parameters",
    "make_hit_rule",
    "merge_marks",
    "reader_statistics",
    "soft_labels",
]

_HOMES = {
    "HIT": "hit_rules",
    "HIT_RULES": "hit_rules",
    "STRICT_HIT": "hit_rules",
    "DistanceHit": "hit_rules",
    "EllipseHit": "hit_rules",
    "HitRule": "hit_rules",
    "OverlapHit": "hit_rules",
    "ReaderStatistics": "readers",
    "candidate_hits": "hits",
    "hit_rule_parameters": "hit_rules",
    "make_hit_rule": "hit_rules",
    "merge_marks": "merging",
    "reader_statistics": "readers",
    "soft_labels": "labels",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
