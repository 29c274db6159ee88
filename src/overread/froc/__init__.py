"""Scores against truth: curves, operating points, intervals and comparisons.

Names are imported when they are asked for: commands show the defaults in their help, which needs no pandas.
Print figures are in `overread.froc.plots`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from overread.froc.counting import Counting
from overread.froc.defaults import FP_TARGETS

if TYPE_CHECKING:
    from overread.froc.bootstraps import Bootstrap, bootstrap
    from overread.froc.chance import ChanceLevel, chance_level
    from overread.froc.comparison import Comparison, compare
    from overread.froc.curve import MEASURES, FrocCurve, froc_curve, performance_at, sensitivity_at
    from overread.froc.foreign import Detections, ForeignTruth, read_detections, read_foreign_truth
    from overread.froc.fp_scale import place_on_fp_scale
    from overread.froc.intervals import (
        percentile_interval,
        proportion_interval,
        rate_interval,
        score_interval,
    )
    from overread.froc.lambda_choice import LambdaChoice, LambdaRule, PathModels, ScoredSplit, choose_lambda
    from overread.froc.locked import LockedEvaluation, LockedOperatingPoint, lock_operating_point
    from overread.froc.matching import Matching, match
    from overread.froc.merit import (
        AfrocCurve,
        CaseRatings,
        DifferencePilot,
        FigureComparison,
        FigureEstimate,
        FigureOfMerit,
        PairedPRange,
        ReaderPilot,
        ReaderStudy,
        SensitivityPilot,
        StudySize,
        afroc_curve,
        case_ratings,
        compare_figures,
        estimate_figures,
        figure_of_merit,
        gts_for_half_width,
        gts_needed,
        jackknife_figures,
        obuchowski_rockette,
        paired_p_range,
        pilot_difference,
        pilot_readers,
        pilot_sensitivity,
        read_reader_study,
        reader_study,
        verdict,
        whole_curve_figures,
    )
    from overread.froc.operating import operating_points
    from overread.froc.reliability import Calibration, calibration, reliability_curve
    from overread.froc.scorer import FrocScorer, matching_of_bags
    from overread.froc.setting_choice import SettingChoice, choose_setting
    from overread.froc.strata import lesion_sizes_mm, only_targets, performance_by, sensitivity_by
    from overread.froc.suppression import find_strongest
    from overread.froc.table import PerformanceTable, performance_table
    from overread.froc.table_formats import format_table

_HOMES = {
    "bootstraps": "Bootstrap bootstrap",
    "chance": "ChanceLevel chance_level",
    "comparison": "Comparison compare",
    "curve": "MEASURES FrocCurve froc_curve performance_at sensitivity_at",
    "foreign": "Detections ForeignTruth read_detections read_foreign_truth",
    "fp_scale": "place_on_fp_scale",
    "intervals": "percentile_interval proportion_interval rate_interval score_interval",
    "lambda_choice": "LambdaChoice LambdaRule PathModels ScoredSplit choose_lambda",
    "locked": "LockedEvaluation LockedOperatingPoint lock_operating_point",
    "matching": "Matching match",
    "merit": (
        "AfrocCurve CaseRatings DifferencePilot FigureComparison FigureEstimate FigureOfMerit "
        "PairedPRange ReaderPilot ReaderStudy SensitivityPilot StudySize afroc_curve case_ratings "
        "compare_figures estimate_figures figure_of_merit gts_for_half_width gts_needed "
        "jackknife_figures obuchowski_rockette paired_p_range pilot_difference pilot_readers "
        "pilot_sensitivity read_reader_study reader_study verdict whole_curve_figures"
    ),
    "operating": "operating_points",
    "reliability": "Calibration calibration reliability_curve",
    "scorer": "FrocScorer matching_of_bags",
    "setting_choice": "SettingChoice choose_setting",
    "strata": "lesion_sizes_mm only_targets performance_by sensitivity_by",
    "suppression": "find_strongest",
    "table": "PerformanceTable performance_table",
    "table_formats": "format_table",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "FP_TARGETS",
    "MEASURES",
    "AfrocCurve",
    "Bootstrap",
    "Calibration",
    "CaseRatings",
    "ChanceLevel",
    "Comparison",
    "Counting",
    "Detections",
    "DifferencePilot",
    "FigureComparison",
    "FigureEstimate",
    "FigureOfMerit",
    "ForeignTruth",
    "FrocCurve",
    "FrocScorer",
    "LambdaChoice",
    "LambdaRule",
    "LockedEvaluation",
    "LockedOperatingPoint",
    "Matching",
    "PairedPRange",
    "PathModels",
    "PerformanceTable",
    "ReaderPilot",
    "ReaderStudy",
    "ScoredSplit",
    "SensitivityPilot",
    "SettingChoice",
    "StudySize",
    "afroc_curve",
    "bootstrap",
    "calibration",
    "case_ratings",
    "chance_level",
    "choose_lambda",
    "choose_setting",
    "compare",
    "compare_figures",
    "estimate_figures",
    "figure_of_merit",
    "find_strongest",
    "format_table",
    "froc_curve",
    "gts_for_half_width",
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
    "percentile_interval",
    "performance_at",
    "performance_by",
    "performance_table",
    "pilot_difference",
    "pilot_readers",
    "pilot_sensitivity",
    "place_on_fp_scale",
    "proportion_interval",
    "rate_interval",
    "read_detections",
    "read_foreign_truth",
    "read_reader_study",
    "reader_study",
    "reliability_curve",
    "score_interval",
    "sensitivity_at",
    "sensitivity_by",
    "verdict",
    "whole_curve_figures",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
