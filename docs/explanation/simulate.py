"""Figures of docs/explanation/simulate.md.

python docs/explanation/simulate.py    writes simulate_nodules.png, simulate_readers.svg and simulate_fields.png
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from benchmarks.fit_readers import PAPER_COUNTS, simulate_counts
from matplotlib.patches import Ellipse

from overread import phantom
from overread.plugins import empty_figure, save_figure
from overread.simulate import PictureDistribution, PictureRecipe
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import draw_case, pixels_with_nodules
from overread.simulate._laws import PAPER_LAW

FIGURES = Path(__file__).parents[1] / "figures"
CROP_MM = 60.0
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"


def nodules_figure(n: int = 10):
    """Crops of phantoms without and with a nodule."""
    figure = empty_figure(10.0, 2.25)
    axes = figure.subplots(2, n)
    for column in range(n):
        background = phantom_background(phantom(seed=40 + column))
        case = draw_case(background, ["R1"], PAPER_LAW, np.random.default_rng(column), n_nodules=1)
        nodule, mm = case.nodules[0], background.mm_per_px
        reach = int(CROP_MM / 2 / mm)
        row, place = int(nodule.y_mm / mm), int(nodule.x_mm / mm)
        crops = [
            np.pad(pixels_with_nodules(background, nodules), reach, mode="edge")[
                row : row + 2 * reach, place : place + 2 * reach
            ]
            for nodules in ([], case.nodules)
        ]
        low, high = np.percentile(crops[0], (0.5, 99.5))
        for axis, crop in zip(axes[:, column], crops, strict=True):
            axis.imshow(crop, cmap="gray", vmin=low, vmax=high)
            axis.set_axis_off()
        axes[1, column].text(
            0.5, -0.12, f"{nodule.diameter_mm:.0f} mm, {nodule.conspicuity:.1f}", ha="center", fontsize=7,
            transform=axes[1, column].transAxes,
        )  # fmt: skip
    return figure


def readers_figure(seeds: range = range(300, 312)):
    """Plot counts of unseen seeds over the paper's."""
    figure = empty_figure(5.5, 2.4)
    axis = figure.subplots()
    drawn = [simulate_counts(PAPER_LAW, PAPER_COUNTS.n_images, seed) for seed in seeds]
    for place, (name, colour) in enumerate((("golden", GREEN), ("marked_images", ORANGE), ("marks", BLUE))):
        values = np.array([getattr(counts, name) for counts in drawn]) / getattr(PAPER_COUNTS, name)
        axis.plot(
            values, np.full(len(values), place) + np.linspace(-0.2, 0.2, len(values)), "o", color=colour
        )
        print(
            name,
            getattr(PAPER_COUNTS, name),
            [getattr(c, name) for c in drawn],
            round(float(values.mean()), 4),
        )
    axis.axvline(1.0, color="black", lw=0.8)
    axis.axvspan(0.9, 1.1, color="0.92", zorder=0)
    axis.set_yticks(range(3), ["golden objects", "marked images", "marks"])
    axis.set_xlabel("simulated over the paper's count")
    axis.set_xlim(0.85, 1.15)
    return figure


def fields_figure():
    """Four field phantoms, the last with the marks of its readers."""
    figure = empty_figure(10.0, 2.2)
    axes = figure.subplots(1, 4)
    recipe = PictureRecipe(4, PictureDistribution(), 3)
    colours = {"R1": BLUE, "R2": ORANGE, "R3": GREEN, "R4": "#CC79A7"}
    for axis, number in zip(axes, (0, 2, 3, 0), strict=True):
        made = recipe.make(number)
        axis.imshow(made.pixels)
        axis.set_axis_off()
    for mark in made.marks:
        place, size = (mark["x_mm"], mark["y_mm"]), (2 * mark["semi_major_mm"], 2 * mark["semi_minor_mm"])
        colour = colours[mark["reader_id"]]
        axes[-1].add_patch(Ellipse(place, *size, angle=mark["angle_deg"], fill=False, ec=colour, lw=0.8))
    return figure


if __name__ == "__main__":
    save_figure(fields_figure(), FIGURES / "simulate_fields.png")
    save_figure(nodules_figure(), FIGURES / "simulate_nodules.png")
    save_figure(readers_figure(), FIGURES / "simulate_readers.svg")
