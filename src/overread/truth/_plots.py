"""The paper's figures of annotation: marks and merged objects (Figure 1), reader statistics (Figure 2).

Functions return a `matplotlib.figure.Figure`; save it with
`overread._plots.save_figure`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._plots import empty_figure
from overread.errors import InvalidInputError
from overread.marks import ELLIPSE_COLUMNS
from overread.tables import UNIT_WORDS, LengthUnit, plain
from overread.truth._readers import ReaderStatistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's palette, safe for colour-blind readers, without the colour of merged objects.
READER_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
READER_DASHES = ("-", "--", ":", "-.")
OBJECT = "#E69F00"
BAR = "#999999"
# The paper's red and blue, of the same palette.
SENSITIVITY, FALSE_POSITIVES = "#D55E00", "#0072B2"
# Margin around the marks; set by judgement.
MARGIN_MM = 15.0
ENDS = ((-1, "min"), (1, "max"))
# More numbers than this overlap, and their list does not fit on the page; set by judgement.
MOST_NUMBERED = 20


@dataclass(frozen=True)
class MarkedPicture:
    """Pixels to draw under the marks, with their pixel size and the position of their corner in the image."""

    pixels: NDArray[Any]
    mm_per_px_x: float
    mm_per_px_y: float
    left: float = 0.0
    top: float = 0.0


def marks_figure(
    marks: pd.DataFrame,
    truth: pd.DataFrame,
    image_ids: Sequence[str],
    *,
    pictures: Mapping[str, MarkedPicture] | None = None,
    views: Mapping[str, tuple[float, float, float]] | None = None,
    unit: LengthUnit | None = None,
) -> Figure:
    """Draw the marks of each image, coloured by reader, and the merged objects (the paper's Figure 1).

    One row per image; columns: the image (if pictures are given), the marks, the objects. Consensus objects are drawn
    solid, single-reader objects dashed. A list gives readers / readings and the probability of each object; above 20
    objects, only their number is given.

    Parameters
    ----------
    marks, truth
        Tables; only the rows of `image_ids` are drawn.
    image_ids
        Images, from top to bottom.
    pictures
        Pixels by image id; without pixels an image has a plain background.
    views
        Left, top and side of the square to show, by image id; by default the square around all marks with a margin.
    unit
        Unit of lengths with plain names, shown at the axes; None: from their names.
    """
    marks, unit = plain(marks, unit, "marks")
    truth, _ = plain(truth, unit, "truth")
    word, pictures, views = UNIT_WORDS[unit], pictures or {}, views or {}
    missing = [image_id for image_id in image_ids if not (marks["image_id"] == image_id).any()]
    if missing or not image_ids:
        raise InvalidInputError(
            f"no marks to draw in image {missing[0]!r}" if missing else "no image to draw"
        )
    contents = [*(["image"] if pictures else []), "marks", "merged objects"]
    titles = [f"{letter}  {content}" for letter, content in zip("abc", contents, strict=False)]
    styles = _reader_styles(marks[marks["image_id"].isin(image_ids)])
    from matplotlib.lines import Line2D

    figure = empty_figure(2.1 * len(titles) + 1.1, 2.2 * len(image_ids) + 0.9)
    axes = figure.subplots(len(image_ids), len(titles), squeeze=False)
    for row, image_id in zip(axes, image_ids, strict=True):
        drawn, objects = marks[marks["image_id"] == image_id], truth[truth["image_id"] == image_id]
        view = views.get(image_id) or _square_around(drawn)
        for ax in row:
            _draw_background(ax, view, pictures.get(image_id))
        draw_marks(row[-2], drawn, styles)
        listed = _draw_objects(row[-1], objects)
        row[0].set_ylabel(f"{image_id}\ny ({word})", fontsize=9)
        beside = {"transform": row[-1].transAxes, "va": "top", "fontsize": 8, "linespacing": 1.4}
        row[-1].text(1.03, 1.0, "\n".join(listed), **beside)
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, loc="left", fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel(f"x ({word})", fontsize=9)
    lines = [Line2D([], [], color=colour, linestyle=dash) for colour, dash in styles.values()]
    names = [f"reader {reader}" for reader in styles]
    lines += [Line2D([], [], color=OBJECT, lw=2.5), Line2D([], [], color=OBJECT, lw=1.5, linestyle="--")]
    names += ["consensus object", "single-reader object"]
    figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _reader_styles(marks: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Colour and dash of each reader: the palette first, then the palette again with other dashes."""
    readers = sorted(marks["reader_id"].unique())
    n = len(READER_COLOURS)
    return {
        r: (READER_COLOURS[i % n], READER_DASHES[i // n % len(READER_DASHES)]) for i, r in enumerate(readers)
    }


def _square_around(marks: pd.DataFrame) -> tuple[float, float, float]:
    """Return left, top and side of the square around marks, with a margin."""
    reach = marks["semi_major"] + MARGIN_MM
    low, high = ([(marks[name] + sign * reach).agg(end) for name in ("x", "y")] for sign, end in ENDS)
    side = float(max(high[0] - low[0], high[1] - low[1]))
    return 0.5 * float(low[0] + high[0]) - side / 2, 0.5 * float(low[1] + high[1]) - side / 2, side


def _draw_background(ax: Axes, view: tuple[float, float, float], picture: MarkedPicture | None) -> None:
    """Show a square, y down, with the picture under it."""
    left, top, side = view
    if picture is not None:
        height, width = picture.pixels.shape[:2]
        right, bottom = picture.left + width * picture.mm_per_px_x, picture.top + height * picture.mm_per_px_y
        extent = (picture.left, right, bottom, picture.top)
        ax.imshow(picture.pixels, cmap="gray", extent=extent, interpolation="bilinear")
    ax.set_xlim(left, left + side)
    ax.set_ylim(top + side, top)
    ax.set_aspect("equal")
    ax.tick_params(labelsize=8)


def draw_marks(ax: Axes, marks: pd.DataFrame, styles: Mapping[str, tuple[str, str]]) -> None:
    """Draw each mark in its reader's colour."""
    for reader, ellipse in zip(marks["reader_id"], _ellipse_rows(marks), strict=True):
        colour, dash = styles[reader]
        _add_ellipse(ax, ellipse, edgecolor=colour, linestyle=dash, linewidth=1.5)


def _draw_objects(ax: Axes, truth: pd.DataFrame) -> list[str]:
    """Draw each merged object with a number, and return readers / readings and probability by number.

    Many objects are only counted, because numbers would hide the picture.
    """
    lines = []
    ellipses = _ellipse_rows(truth)
    few = len(truth) <= MOST_NUMBERED
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    room = (right - left) / 8
    for number, (row, ellipse) in enumerate(zip(truth.itertuples(), ellipses, strict=True), start=1):
        dash, width = ("-", 2.5) if row.golden else ("--", 1.5)
        _add_ellipse(ax, ellipse, edgecolor=OBJECT, linestyle=dash, linewidth=width if few else width / 2)
        if not few:
            continue
        side = _away_from_others(ellipses[:, :2], number - 1)
        # Outside the border a number would overlap the title or the axis.
        place = ellipse[:2] + ellipse[2] * side
        outside = (place < (left + room, top + room)) | (place > (right - room, bottom - room))
        side = np.where(outside, 0.0, side)
        side /= max(np.hypot(*side), 1e-9)
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        offset: Any = {"xytext": (9 * side[0], -9 * side[1]), "textcoords": "offset points"}
        at = ellipse[:2] + ellipse[2] * side
        ax.annotate(str(number), at, fontsize=9, ha="center", va="center", bbox=box, **offset)
        lines.append(f"{number}:  {row.n_readers}/{row.n_readings},  p {float(str(row.probability)):.2g}")
    return lines if few else [f"{len(truth)} objects, {int(truth['golden'].sum())} consensus"]


def _away_from_others(centres: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Return the unit vector from one centre away from the others, weighted towards the nearest."""
    offsets = np.delete(centres[number] - centres, number, axis=0)
    distances = np.hypot(offsets[:, 0], offsets[:, 1])[:, None]
    push = np.sum(offsets / np.maximum(distances, 1.0) ** 3, axis=0) + np.array([1e-9, -1e-9])
    return np.asarray(push / np.hypot(*push))


def _ellipse_rows(table: pd.DataFrame) -> NDArray[np.float64]:
    """Rows (x, y, a, b, angle) of a table."""
    return table[list(ELLIPSE_COLUMNS)].to_numpy(dtype=np.float64)


def _add_ellipse(ax: Axes, ellipse: NDArray[np.float64], **style: Any) -> None:
    """Add the outline of an ellipse to a plot whose y axis points down."""
    from matplotlib.patches import Ellipse as Patch

    x, y, semi_major, semi_minor, angle = ellipse.tolist()
    ax.add_patch(Patch((x, y), 2 * semi_major, 2 * semi_minor, angle=angle, fill=False, **style))


def readers_figure(statistics: ReaderStatistics) -> Figure:
    """Draw the readings per image, and each reader's sensitivity and false positives (the paper's Figure 2).

    Bars: against the consensus objects of all readers, as in the paper. Diamonds: against the consensus objects of the
    other readers.
    """
    readers = statistics.readers
    # Panels below each other, so that the figure is readable on a narrow page.
    figure = empty_figure(max(4.8, 1.2 + 0.45 * len(readers)), 6.4)
    from matplotlib.legend_handler import HandlerTuple

    grid = figure.add_gridspec(3, 1)
    histogram = figure.add_subplot(grid[0])
    counts = statistics.readings_per_image
    bars = histogram.bar(counts["n_readings"], counts["n_images"], color=BAR, width=0.7)
    histogram.bar_label(bars, fontsize=8)
    histogram.set_xticks(counts["n_readings"].to_numpy())
    histogram.set_xlim(counts["n_readings"].min() - 1, counts["n_readings"].max() + 1)
    histogram.set(xlabel="readings per image", ylabel="images")
    histogram.margins(y=0.15)
    histogram.set_title("a", loc="left")
    upper = figure.add_subplot(grid[1])
    lower = figure.add_subplot(grid[2], sharex=upper)
    _draw_rates(upper, readers, "sensitivity", SENSITIVITY)
    _draw_rates(lower, readers, "fp_per_image", FALSE_POSITIVES)
    upper.set(ylabel="sensitivity", ylim=(0, 1))
    upper.set_title("b", loc="left")
    upper.tick_params(labelbottom=False)
    lower.set(xlabel="reader", ylabel="false positives\nper image")
    many = len(readers) > 12 or readers["reader_id"].str.len().max() > 4
    lower.set_xticks(np.arange(len(readers)), readers["reader_id"], rotation=90 if many else 0)
    handles: list[Any] = [(upper.patches[0], lower.patches[0]), upper.lines[0]] if len(readers) else []
    figure.legend(
        handles,
        ["consensus objects of all readers", "consensus objects of the others"][: len(handles)],
        handler_map={tuple: HandlerTuple(ndivide=None)},
        loc="outside lower center",
        frameon=False,
        fontsize=8,
        ncols=2,
    )
    return figure


def _draw_rates(ax: Axes, readers: pd.DataFrame, rate: str, colour: str) -> None:
    """Bars of one rate, with its leave-one-out value as a diamond."""
    places = np.arange(len(readers))
    ax.bar(places, readers[rate], color=colour, width=0.7)
    ax.plot(places, readers[f"loo_{rate}"], "D", color="black", markerfacecolor="white", markersize=6)
