"""Scores against truth: curves, operating points, intervals and comparisons."""

from overread.froc.chance import ChanceLevel, chance_level
from overread.froc.comparison import Comparison, compare
from overread.froc.curve import FP_TARGETS, MEASURES, FrocCurve, froc_curve, performance_at, sensitivity_at
from overread.froc.intervals import percentile_interval, proportion_interval, rate_interval, score_interval
from overread.froc.lambda_choice import LambdaChoice, choose_lambda
from overread.froc.locked import LockedEvaluation, LockedOperatingPoint, lock_operating_point
from overread.froc.matching import Matching, MatchOptions, match
from overread.froc.operating import operating_points
from overread.froc.planning import PairedPRange, gts_needed, paired_p_range
from overread.froc.resampling import Bootstrap, bootstrap, patient_counts
from overread.froc.scorer import FrocScorer, matching_of_bags
from overread.froc.strata import lesion_sizes_mm, only_targets, sensitivity_by

__all__ = [
    "FP_TARGETS",
    "MEASURES",
    "Bootstrap",
    "ChanceLevel",
    "Comparison",
    "FrocCurve",
    "FrocScorer",
    "LambdaChoice",
    "LockedEvaluation",
    "LockedOperatingPoint",
    "MatchOptions",
    "Matching",
    "PairedPRange",
    "bootstrap",
    "chance_level",
    "choose_lambda",
    "compare",
    "froc_curve",
    "gts_needed",
    "lesion_sizes_mm",
    "lock_operating_point",
    "match",
    "matching_of_bags",
    "only_targets",
    "operating_points",
    "paired_p_range",
    "patient_counts",
    "percentile_interval",
    "performance_at",
    "proportion_interval",
    "rate_interval",
    "score_interval",
    "sensitivity_at",
    "sensitivity_by",
]
