"""Scores against truth: curves, operating points, intervals and comparisons."""

from overread.froc.curve import FP_TARGETS, MEASURES, FrocCurve, froc_curve, performance_at, sensitivity_at
from overread.froc.matching import Matching, MatchOptions, match
from overread.froc.resampling import Bootstrap, bootstrap, patient_counts

__all__ = [
    "FP_TARGETS",
    "MEASURES",
    "Bootstrap",
    "FrocCurve",
    "MatchOptions",
    "Matching",
    "bootstrap",
    "froc_curve",
    "match",
    "patient_counts",
    "performance_at",
    "sensitivity_at",
]
