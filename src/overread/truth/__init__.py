"""Marks of many readers -> ground-truth objects with soft labels; reader statistics; what hits what."""

from overread.truth.hits import HIT, STRICT_HIT, HitRule, candidate_hits
from overread.truth.labels import soft_labels
from overread.truth.merging import merge_marks
from overread.truth.options import LabelOptions, MergeOptions
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
