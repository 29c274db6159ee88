"""Figures 1, 2, 3 and 5 of the paper and the calibration, drawn from the results alone, as SVG."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

import pandas as pd

from overread.froc.plots import plot_calibration, plot_lambda_choice, plot_setting_choices
from overread.models.plots import reader_importance_figure
from overread.report.lengths import find_crop_side, is_chest, name_unit
from overread.report.pictures import Pictures
from overread.report.results import StudyResults
from overread.report.words import find_mixture
from overread.truth.plots import Picture, marks_figure, readers_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figures", "write_svg"]


def draw_figures(results: StudyResults, pictures: Pictures) -> dict[str, str]:
    """Draw the figures that the results have; the same results give the same bytes.

    Returns
    -------
    dict
        SVG documents by name: "readers", "marks", "choice", "paper_choice", "importance", "calibration".
    """
    drawn = {"readers": write_svg("readers", lambda: readers_figure(results.readers))}
    if results.examples:
        drawn["marks"] = write_svg("marks", lambda: _draw_marks(results, pictures))
    choices = {model.title: model.choice for model in results.models}
    drawn["choice"] = write_svg("choice", lambda: plot_setting_choices(choices))
    if results.paper_choice is not None:
        paper = results.paper_choice.choice
        drawn["paper_choice"] = write_svg("paper_choice", lambda: plot_lambda_choice(paper))
    mixture = find_mixture(results)
    if mixture is not None:
        weights = mixture.reader_importance
        drawn["importance"] = write_svg("importance", lambda: reader_importance_figure(weights))
    calibrations = {
        model.title: model.calibration for model in results.models if model.calibration is not None
    }
    if calibrations:
        drawn["calibration"] = write_svg("calibration", lambda: plot_calibration(calibrations))
    return drawn


def _draw_marks(results: StudyResults, pictures: Pictures) -> Figure:
    return marks_figure(
        pd.concat([example.marks for example in results.examples], ignore_index=True),
        pd.concat([example.objects for example in results.examples], ignore_index=True),
        [example.image_id for example in results.examples],
        pictures={
            image_id: Picture(picture.pixels(), picture.mm_per_px, picture.mm_per_px)
            for image_id, picture in pictures.examples.items()
        },
        upright=True,
        unit=name_unit(results),
        margin=None if is_chest(results) else find_crop_side(results) / 4,
    )


def write_svg(name: str, draw: Callable[[], Figure]) -> str:
    """Draw and write a figure; its ids differ from those of other figures of the page."""
    from matplotlib import rc_context

    drawing = StringIO()
    # A dollar sign in a name is a dollar sign, not the start of a formula.
    with rc_context({"svg.hashsalt": f"overread {name}", "text.parse_math": False}):
        draw().savefig(drawing, format="svg", metadata={"Date": None})
    return drawing.getvalue()
