"""The page of a study: records of its results, and what is drawn, cut and written from them."""

from overread.report.figures import draw_figures
from overread.report.head import RunHead, head_run
from overread.report.model_card import CARD_FILE, write_model_card
from overread.report.overlay import detections_figure
from overread.report.pictures import Pictures, cut_pictures
from overread.report.render import render_study
from overread.report.results import StudyResults, read_results

__all__ = [
    "CARD_FILE",
    "Pictures",
    "RunHead",
    "StudyResults",
    "cut_pictures",
    "detections_figure",
    "draw_figures",
    "head_run",
    "read_results",
    "render_study",
    "write_model_card",
]
