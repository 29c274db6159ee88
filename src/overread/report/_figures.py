"""Figures 1 to 5 of the paper and the calibration, drawn from the results alone, as SVG.

The FROC curves, to hover over and to choose an operating point on (the paper's Figure 4).

Here are the places of lines and diamonds and the numbers at each step of the slider; the template
``froc_explorer.html.j2`` draws them, and ``froc_explorer.js`` only moves the operating point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from overread.froc import (
    PAST_TARGETS,
    PerformanceRows,
    froc_figure,
    nearest_to,
    plot_alpha_choice,
    plot_calibration,
    plot_setting_choices,
)
from overread.models import reader_importance_figure
from overread.report._pictures import Crop, Pictures
from overread.report._results import Counted, SetResult, StudyResults
from overread.report._words import find_mixture
from overread.truth import MarkedPicture, marks_figure, readers_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_figures(results: StudyResults, pictures: Pictures) -> dict[str, str]:
    """Draw the figures that the results have; the same results give the same bytes.

    Returns
    -------
    dict
        SVG documents by name: "readers", "marks", "choice", "paper_choice", "froc", "importance", "calibration".
    """
    drawn = {"readers": write_svg("readers", lambda: readers_figure(results.readers))}
    if results.examples:
        drawn["marks"] = write_svg("marks", lambda: _draw_marks(results, pictures))
    choices = {model.title: model.choice for model in results.models}
    drawn["choice"] = write_svg("choice", lambda: plot_setting_choices(choices))
    if results.paper_choice is not None:
        paper = results.paper_choice.choice
        drawn["paper_choice"] = write_svg("paper_choice", lambda: plot_alpha_choice(paper))
    mixture = find_mixture(results)
    if mixture is not None:
        weights, readers = mixture.reader_importance, results.readers.readers
        drawn["importance"] = write_svg(
            "importance", lambda: reader_importance_figure(weights, readers, confidence=results.level)
        )
    drawn["froc"] = write_svg("froc", lambda: _draw_froc(results))
    calibrations = {
        model.title: model.calibration for model in results.models if model.calibration is not None
    }
    if calibrations:
        drawn["calibration"] = write_svg("calibration", lambda: plot_calibration(calibrations))
    return drawn


def _draw_froc(results: StudyResults) -> Figure:
    """Draw Figure 4 as the paper counts: of GTs that some candidate hits."""
    paper = results.paper
    models = {
        model.name: [
            (_take_reached(curves[model.name]), _take_points(rows))
            for curves, rows in zip((paper.training, paper.test), model.rows, strict=True)
        ]
        for model in paper.of_reached.models
    }
    return froc_figure(models, max_fp=PAST_TARGETS * max(results.fp_targets))


def _take_reached(curve: pd.DataFrame) -> pd.DataFrame:
    return curve[["fp_per_image"]].assign(**{name: curve[f"{name}_reached"] for name in MEASURES})


def _take_points(rows: PerformanceRows) -> pd.DataFrame:
    points = {name: getattr(rows, name).values for name in MEASURES}
    return pd.DataFrame({"fp_per_image": rows.fp_per_image, **points})


def _draw_marks(results: StudyResults, pictures: Pictures) -> Figure:
    return marks_figure(
        pd.concat([example.marks for example in results.examples], ignore_index=True),
        pd.concat([example.objects for example in results.examples], ignore_index=True),
        [example.image_id for example in results.examples],
        pictures={image_id: _place_pixels(crop) for image_id, crop in pictures.examples.items()},
        views={one.image_id: (one.left, one.top, one.side) for one in results.examples},
        unit=results.unit,
    )


def _place_pixels(crop: Crop) -> MarkedPicture:
    pixels = crop.pixels()
    spacing = crop.side / len(pixels)
    return MarkedPicture(pixels, spacing, spacing, crop.left, crop.top)


def write_svg(name: str, draw: Callable[[], Figure]) -> str:
    """Draw and write a figure; its ids differ from those of other figures of the page."""
    from matplotlib import rc_context

    drawing = StringIO()
    # A dollar sign in a name is a dollar sign, not the start of a formula.
    with rc_context({"svg.hashsalt": f"overread {name}", "text.parse_math": False}):
        draw().savefig(drawing, format="svg", metadata={"Date": None})
    return drawing.getvalue()


# Okabe and Ito's palette in the order of the paper's Figure 4: red, black, blue, then others.
COLOURS = ("#D55E00", "#000000", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Units of the drawing: two panels stand side by side on a desk, one above the other on a phone.
LEFT, RIGHT, TOP, BOTTOM = 48.0, 472.0, 28.0, 288.0
STEP, LAST_STEP = 0.05, 3.0
N_TICKS = 8
# Between a reader's point and the column of names, and between the names' lines, in the size that the template has.
NAME_GAP = (14.0, 12.0)
OF_FOLDS = "model chosen per fold"
MEASURES = {"gt_sensitivity": "Sensitivity", "image_sensitivity": "Image sensitivity"}


@dataclass(frozen=True)
class Curve:
    """A line of a panel: the corners of its staircase, and of the outline of its band, if it has one.

    ``is_test`` says that it is of unseen patients, ``is_detector`` that it is the detector's.
    """

    colour: str
    is_test: bool
    is_detector: bool
    points: str
    band: str


@dataclass(frozen=True)
class Diamond:
    """A locked operating point."""

    colour: str
    is_test: bool
    x: float
    y: float


@dataclass(frozen=True)
class ReaderPoint:
    """A reader's operating point, judged by the others, and the position of its name, which covers no other name."""

    name: str
    x: float
    y: float
    name_x: float
    name_y: float


@dataclass(frozen=True)
class Panel:
    """One measure against false positives per image; ticks are positions and labels."""

    title: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    curves: list[Curve]
    diamonds: list[Diamond]
    readers: list[ReaderPoint]


@dataclass(frozen=True)
class Explorer:
    """Everything that the template and the script show."""

    left, right, top, bottom = LEFT, RIGHT, TOP, BOTTOM  # The axes' frame
    max_fp: float  # False positives per image at the right end of the axes
    # False positives per image of the slider's steps, and its first step.
    steps: list[float]
    start: int
    panels: list[Panel]  # GT sensitivity and image sensitivity
    colours: dict[str, str]  # By title of the model
    detector: str  # Title of the one that the detector is
    # For each model threshold, fp_per_image and sensitivities with limits at every step; None where a number does
    # not exist.
    models: list[dict[str, list[float | None]]]

    @property
    def cursor(self) -> float:
        """Horizontal position of the first operating point."""
        return _place_fp(self.steps[self.start], self.max_fp)

    @property
    def data(self) -> dict[str, Any]:
        """Numbers for the script."""
        axis = {"left": LEFT, "right": RIGHT, "max_fp": self.max_fp}
        return axis | {"fp_targets": self.steps, "models": self.models}


def lay_out_explorer(results: StudyResults) -> Explorer:
    """Find positions and numbers of every model under the study's treatment of single-reader objects."""
    shown = _list_shown(results)
    titles, counted = [title for title, _ in shown], [one for _, one in shown]
    steps = _slider_steps(counted[0].test.band)
    # A little past the largest target: on the test set the thresholds induce other FP per image.
    max_fp = max(PAST_TARGETS * max(results.fp_targets), steps[-1])
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(counted))]
    detector = OF_FOLDS if OF_FOLDS in titles else results.model(results.supported).title
    return Explorer(
        max_fp=max_fp,
        steps=steps,
        start=steps.index(nearest_to(results.verdict.fp_target, steps)),
        panels=[
            _lay_out_panel(
                measure,
                list(zip(colours, counted, strict=True)),
                counted[titles.index(detector)],
                results.fp_targets,
                max_fp,
                _place_readers(results.reader_points, max_fp) if measure == "gt_sensitivity" else [],
            )
            for measure in MEASURES
        ],
        colours=dict(zip(titles, colours, strict=True)),
        detector=detector,
        models=[_take_steps(one.test.band, steps) for one in counted],
    )


def _list_shown(results: StudyResults) -> list[tuple[str, Counted]]:
    """List what has curves: the models, and the detector where the folds of a nested run chose different ones."""
    shown = [(model.title, model.counted[0]) for model in results.models]
    if results.headline.counted is not None and set(results.headline.chosen) != {results.supported}:
        shown.append((OF_FOLDS, results.headline.counted))
    return shown


def list_steps(explorer: Explorer) -> list[list[str]]:
    """List the numbers at all steps of the slider: a header, then a row for each model and step."""
    columns = list(explorer.models[0])
    rows = [["model", "fp_target", *columns]]
    for title, numbers in zip(explorer.colours, explorer.models, strict=True):
        for step, fp in enumerate(explorer.steps):
            cells = (numbers[name][step] for name in columns)
            rows.append([title, f"{fp:g}", *("" if value is None else f"{value:g}" for value in cells)])
    return rows


def _slider_steps(band: pd.DataFrame) -> list[float]:
    """Take every 0.05 FP per image up to 3 from the grid of a band."""
    grid = np.unique(band["fp_target"].to_numpy(np.float64))
    is_step = (np.abs(grid / STEP - np.round(grid / STEP)) < 1e-6) & (grid < LAST_STEP + 1e-6)
    return [float(fp) for fp in grid[is_step]]


def _take_steps(band: pd.DataFrame, steps: list[float]) -> dict[str, list[float | None]]:
    rows = {name: part.set_index("fp_target").reindex(steps) for name, part in band.groupby("measure")}
    columns = {
        "threshold": rows["fp_per_image"]["threshold"],
        "fp_per_image": rows["fp_per_image"]["estimate"],
    }
    for measure in MEASURES:
        columns[measure] = rows[measure]["estimate"]
        columns[f"{measure}_lower"] = rows[measure]["lower"]
        columns[f"{measure}_upper"] = rows[measure]["upper"]
    return {name: _round_numbers(column) for name, column in columns.items()}


def _round_numbers(values: pd.Series[Any]) -> list[float | None]:
    """Keep six figures of each number; None for what JSON cannot say."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.astype("float64")]


def _lay_out_panel(
    measure: str,
    models: list[tuple[str, Counted]],
    detector: Counted,
    fp_targets: list[float],
    max_fp: float,
    readers: list[ReaderPoint],
) -> Panel:
    """Lay out one measure of the models, which are given with their colours."""
    tick = next(size for size in (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, np.inf) if max_fp / size <= N_TICKS)
    curves, diamonds = [], []
    for colour, one in models:
        for part, points in ((one.training, one.training.band), (one.test, one.points)):
            is_test = part is one.test
            # Of the others too, bands and points would cover each other.
            outline = _outline_band(part.band, measure, max_fp) if is_test and one is detector else ""
            curves.append(Curve(colour, is_test, one is detector, _stairs(part, measure, max_fp), outline))
            places = _place_points(points, measure, fp_targets, max_fp) if one is detector else []
            diamonds += [Diamond(colour, is_test, x, y) for x, y in places]
    return Panel(
        title=MEASURES[measure],
        x_ticks=[(_place_fp(fp, max_fp), f"{fp:g}") for fp in np.arange(0, max_fp, tick).tolist()],
        y_ticks=[(_place_share(share), f"{100 * share:.0f} %") for share in np.linspace(0, 1, 6).tolist()],
        curves=curves,
        diamonds=diamonds,
        readers=readers,
    )


def _place_readers(readers: pd.DataFrame, max_fp: float) -> list[ReaderPoint]:
    """Find the positions of the readers' operating points; those beyond the axis are left out.

    Names stand in a column to the right of all points, as near to the height of their point as others let them.
    """
    inside = readers[readers["fp_per_image"] <= max_fp].sort_values("sensitivity", ascending=False)
    if inside.empty:
        return []
    x = [_place_fp(fp, max_fp) for fp in inside["fp_per_image"]]
    y = [_place_share(share) for share in inside["sensitivity"]]
    name_x = round(min(max(x) + NAME_GAP[0], RIGHT - 2 * NAME_GAP[0]), 1)
    heights = _spread(np.array(y), min(NAME_GAP[1], (BOTTOM - TOP) / len(y)))
    return [
        ReaderPoint(str(name), at_x, at_y, name_x, round(float(height), 1))
        for name, at_x, at_y, height in zip(inside["reader_id"], x, y, heights, strict=True)
    ]


def _spread(heights: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Move rising heights apart to at least this gap, each as little as can be (least squares), within the frame."""
    steps = gap * np.arange(len(heights))
    moved = isotonic_regression(heights - steps).x
    return np.asarray(np.clip(moved, TOP, BOTTOM - steps[-1]) + steps)


def _stairs(part: SetResult, measure: str, max_fp: float) -> str:
    """Write the staircase up to the end of the axis, the corners alone."""
    fp = part.curve["fp_per_image"].to_numpy(np.float64)
    found = np.nan_to_num(part.curve[measure].to_numpy(np.float64))
    x, y = 0.0, 0.0
    corners = [(x, y)]
    for step in np.flatnonzero((np.diff(found, prepend=0.0) != 0) & (fp <= max_fp)):
        if fp[step] > x:
            corners.append((float(fp[step]), y))
        x, y = float(fp[step]), float(found[step])
        corners.append((x, y))
    corners.append((min(max_fp, float(fp[-1])), y))
    return " ".join(f"{_place_fp(x, max_fp)},{_place_share(y)}" for x, y in corners)


def _outline_band(band: pd.DataFrame, measure: str, max_fp: float) -> str:
    """Write the outline of the pointwise interval: its upper ends, then its lower ends backwards."""
    rows = band[(band["measure"] == measure) & (band["fp_target"] <= max_fp)]
    rows = rows.dropna(subset=["lower", "upper"]).sort_values("fp_target")
    x = [_place_fp(fp, max_fp) for fp in rows["fp_target"]]
    upper, lower = ([_place_share(share) for share in rows[end]] for end in ("upper", "lower"))
    outline = [*zip(x, upper, strict=True), *zip(x[::-1], lower[::-1], strict=True)]
    return " ".join(f"{x},{y}" for x, y in outline)


def _place_points(
    points: pd.DataFrame, measure: str, fp_targets: list[float], max_fp: float
) -> list[tuple[float, float]]:
    """Find the positions of the operating points at the FP targets, at their actual FP per image."""
    at = points[points["fp_target"].isin(fp_targets)].pivot(
        index="fp_target", columns="measure", values="estimate"
    )
    inside = at[(at["fp_per_image"] <= max_fp) & at[measure].notna()]
    return [
        (_place_fp(fp, max_fp), _place_share(share))
        for fp, share in zip(inside["fp_per_image"], inside[measure], strict=True)
    ]


def _place_fp(fp: float, max_fp: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * fp / max_fp, 1)


def _place_share(share: float) -> float:
    return round(BOTTOM - (BOTTOM - TOP) * share, 1)
