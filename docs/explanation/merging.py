"""Figure of docs/explanation/merging.md: readers who see at different scales, without and with votes across scales.

python docs/explanation/merging.py    writes docs/figures/merging_nested.png
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse

from overread import MergeOptions, merge_marks
from overread.marks import ELLIPSE_COLUMNS
from overread.plugins import empty_figure, save_figure
from overread.simulate import PictureDistribution, PictureRecipe

FIGURE = Path(__file__).parents[1] / "figures" / "merging_nested.png"
COLOURS = {"A": "#0072B2", "B": "#D55E00", "C": "#009E73", "D": "#CC79A7"}
READERS = dict(zip(("R1", "R2", "R3", "R4"), COLOURS, strict=True))
OBJECT = "#E69F00"
COLUMNS = ["reader_id", "mark_id", *ELLIPSE_COLUMNS]
SCHEME = (
    ("A", "ring", 50, 50, 24, 22, 0),
    ("B", "one", 40, 44, 5, 4, 20),
    ("B", "two", 62, 55, 5, 5, 0),
    ("C", "two'", 62.5, 56, 5.5, 4.5, 40),
    ("D", "far", 92, 40, 5, 5, 0),
)
# A field with clusters that two readers ringed and two marked lesion by lesion, and the corner of its crop.
FIELD, CROP, SIDE = 0, (262, 160), 78


def scheme() -> tuple[pd.DataFrame, pd.DataFrame]:
    """One ring, two lesions in it by others, and a mark far off."""
    marks = pd.DataFrame(SCHEME, columns=COLUMNS).assign(image_id="scheme")
    return marks, pd.DataFrame({"image_id": "scheme", "reader_id": list(COLOURS)})


def field() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Draw marks, readings and pixels of one field phantom."""
    made = PictureRecipe(FIELD + 1, PictureDistribution(), 0).make(FIELD)
    return pd.DataFrame(made.marks), pd.DataFrame(made.readings), made.pixels


def draw(axis, ellipses: pd.DataFrame, colours: list[str], dashes: list[str], width: float) -> None:
    """Outlines of ellipses."""
    for (x, y, major, minor, angle), colour, dash in zip(
        ellipses[list(ELLIPSE_COLUMNS)].to_numpy(), colours, dashes, strict=True
    ):
        axis.add_patch(
            Ellipse((x, y), 2 * major, 2 * minor, angle=angle, fill=False, ec=colour, ls=dash, lw=width)
        )


def draw_truth(axis, truth: pd.DataFrame, inside: pd.Series) -> None:
    """Objects with the number of their readers and the probability."""
    shown = truth[inside]
    dashes = ["-" if golden else "--" for golden in shown["golden"]]
    draw(axis, shown, [OBJECT] * len(shown), dashes, 2.0)
    for row in shown.itertuples():
        text = f"{row.n_readers}/{row.n_readings}  p {float(f'{row.probability:.2g}'):g}"
        axis.annotate(
            text, (row.x_mm, row.y_mm - row.semi_minor_mm), fontsize=7, ha="center", va="bottom",
            bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
        )  # fmt: skip


def figure():
    """Two rows: a scheme, and a field phantom; columns: marks, objects without votes, with votes."""
    drawn = empty_figure(10.0, 7.0)
    axes = drawn.subplots(2, 3)
    simple, readings = scheme()
    marks, others, pixels = field()
    rows = (
        (simple, readings, None, (22.0, 14.0, 80.0)),
        (marks.assign(reader_id=marks["reader_id"].map(READERS)), others.assign(
            reader_id=others["reader_id"].map(READERS)), pixels, (*CROP, SIDE)),
    )  # fmt: skip
    for row, (table, read, picture, (left, top, side)) in zip(axes, rows, strict=True):
        for axis in row:
            if picture is not None:
                axis.imshow(picture, extent=(0, picture.shape[1], picture.shape[0], 0))
            axis.set(xlim=(left, left + side), ylim=(top + side, top), aspect="equal", xticks=[], yticks=[])
        draw(row[0], table, [COLOURS[reader] for reader in table["reader_id"]], ["-"] * len(table), 1.5)
        for axis, rule in zip(row[1:], ("no", "votes"), strict=True):
            truth = merge_marks(table, read, options=MergeOptions(nested=rule))
            inside = truth["x_mm"].between(left, left + side) & truth["y_mm"].between(top, top + side)
            draw_truth(axis, truth, inside)
    for axis, title in zip(
        axes[0], ("a  marks", 'b  objects, nested = "no"', 'c  objects, nested = "votes"'), strict=True
    ):
        axis.set_title(title, loc="left", fontsize=10)
    lines = [Line2D([], [], color=colour) for colour in COLOURS.values()]
    lines += [Line2D([], [], color=OBJECT, lw=2), Line2D([], [], color=OBJECT, lw=2, ls="--")]
    names = [*(f"reader {name}" for name in COLOURS), "golden object", "object of one reader"]
    drawn.legend(lines, names, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    return drawn


if __name__ == "__main__":
    save_figure(figure(), FIGURE)
