"""Figures of merit of whole curves: one model, two models, readers x modalities, and how many cases they need."""

from overread.froc.merit.comparison import (
    FigureComparison,
    FigureEstimate,
    case_ratings,
    compare_figures,
    estimate_figures,
    whole_curve_figures,
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
from overread.froc.merit.pilots import (
    DifferencePilot,
    SensitivityPilot,
    StudySize,
    pilot_difference,
    pilot_sensitivity,
)
from overread.froc.merit.planning import PairedPRange, gts_for_half_width, gts_needed, paired_p_range
from overread.froc.merit.reader_planning import ReaderPilot, pilot_readers
from overread.froc.merit.reader_study import reader_study
from overread.froc.merit.reader_tables import read_reader_study
from overread.froc.merit.verdict import verdict

__all__ = [
    "AfrocCurve",
    "CaseRatings",
    "DifferencePilot",
    "FigureComparison",
    "FigureEstimate",
    "FigureOfMerit",
    "PairedPRange",
    "ReaderPilot",
    "ReaderStudy",
    "SensitivityPilot",
    "StudySize",
    "afroc_curve",
    "case_ratings",
    "compare_figures",
    "estimate_figures",
    "figure_of_merit",
    "gts_for_half_width",
    "gts_needed",
    "jackknife_figures",
    "obuchowski_rockette",
    "paired_p_range",
    "pilot_difference",
    "pilot_readers",
    "pilot_sensitivity",
    "read_reader_study",
    "reader_study",
    "verdict",
    "whole_curve_figures",
]
