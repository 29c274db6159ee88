"""Scores against truth: curves, operating points, intervals and comparisons."""

from overread.froc.bootstraps import Bootstrap, bootstrap, patient_counts
from overread.froc.chance import ChanceLevel, chance_level
from overread.froc.comparison import Comparison, compare
from overread.froc.curve import FP_TARGETS, MEASURES, FrocCurve, froc_curve, performance_at, sensitivity_at
from overread.froc.foreign.detections import Detections, ForeignTruth, read_detections, read_foreign_truth
from overread.froc.intervals import percentile_interval, proportion_interval, rate_interval, score_interval
from overread.froc.lambda_choice import LambdaChoice, choose_lambda
from overread.froc.locked import LockedEvaluation, LockedOperatingPoint, lock_operating_point
from overread.froc.matching import Matching, MatchOptions, match
from overread.froc.merit.comparison import (
    FigureComparison,
    FigureEstimate,
    case_ratings,
    compare_figures,
    estimate_figures,
)
from overread.froc.merit.figures_of_merit import (
    AfrocCurve,
    CaseRatings,
    FigureOfMerit,
    afroc_curve,
    figure_of_merit,
    jackknife_figures,
)
from overread.froc.merit.obuchowski_rockette import ReaderStudy, obuchowski_rockette
from overread.froc.merit.planning import PairedPRange, gts_needed, paired_p_range
from overread.froc.merit.reader_study import reader_study
from overread.froc.operating import operating_points
from overread.froc.reliability import Calibration, calibration, reliability_curve
from overread.froc.scorer import FrocScorer, matching_of_bags
from overread.froc.strata import lesion_sizes_mm, only_targets, sensitivity_by
from overread.froc.table import PerformanceTable, performance_table
from overread.froc.table_formats import format_table
from overread.froc.verdict import verdict

__all__ = [
    "FP_TARGETS",
    "MEASURES",
    "AfrocCurve",
    "Bootstrap",
    "Calibration",
    "CaseRatings",
    "ChanceLevel",
    "Comparison",
    "Detections",
    "FigureComparison",
    "FigureEstimate",
    "FigureOfMerit",
    "ForeignTruth",
    "FrocCurve",
    "FrocScorer",
    "LambdaChoice",
    "LockedEvaluation",
    "LockedOperatingPoint",
    "MatchOptions",
    "Matching",
    "PairedPRange",
    "PerformanceTable",
    "ReaderStudy",
    "afroc_curve",
    "bootstrap",
    "calibration",
    "case_ratings",
    "chance_level",
    "choose_lambda",
    "compare",
    "compare_figures",
    "estimate_figures",
    "figure_of_merit",
    "format_table",
    "froc_curve",
    "gts_needed",
    "jackknife_figures",
    "lesion_sizes_mm",
    "lock_operating_point",
    "match",
    "matching_of_bags",
    "obuchowski_rockette",
    "only_targets",
    "operating_points",
    "paired_p_range",
    "patient_counts",
    "percentile_interval",
    "performance_at",
    "performance_table",
    "proportion_interval",
    "rate_interval",
    "read_detections",
    "read_foreign_truth",
    "reader_study",
    "reliability_curve",
    "score_interval",
    "sensitivity_at",
    "sensitivity_by",
    "verdict",
]
