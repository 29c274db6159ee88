"""Marks of many readers -> ground-truth objects with soft labels; reader statistics; what hits what.

Only the options are imported at once: the commands show them in their help, which needs no pandas.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from overread.truth.options import LabelOptions, MergeOptions

if TYPE_CHECKING:
    from overread.truth.hits import HIT, STRICT_HIT, HitRule, candidate_hits
    from overread.truth.labels import soft_labels
    from overread.truth.merging import merge_marks
    from overread.truth.readers import ReaderStatistics, reader_statistics

__all__ = [
    "HIT",
    "STRICT_HIT",
    "HitRule",
    "LabelOptions",
    "MergeOptions",
    "ReaderStatistics",
    "candidate_hits",
    "merge_marks",
    "reader_statistics",
    "soft_labels",
]

_HOMES = {
    "HIT": "hits",
    "STRICT_HIT": "hits",
    "HitRule": "hits",
    "ReaderStatistics": "readers",
    "candidate_hits": "hits",
    "merge_marks": "merging",
    "reader_statistics": "readers",
    "soft_labels": "labels",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
