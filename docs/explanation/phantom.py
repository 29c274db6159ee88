"""Make the table and the pictures of phantom.md: ``PYTHONPATH=. python docs/explanation/phantom.py NIH_FOLDER``.

NIH_FOLDER holds images.csv (file, finding_labels, mm_per_px_x, mm_per_px_y) and images/. Only numbers and curves
of the radiographs are written, no pixels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from benchmarks.radiograph_statistics import (
    dark_fields,
    edge_strengths,
    grey_histogram,
    power_law_exponent,
    texture_spectrum,
)
from numpy.typing import NDArray

from overread import phantom
from overread.plugins import empty_figure, save_figure
from overread.simulate import Phantom

FIGURES = Path(__file__).parents[1] / "figures"
FREQUENCIES = np.geomspace(0.045, 0.55, 40)
N_PHANTOMS, FIRST_SEED = 60, 1000
SHEET_SEEDS = range(400, 412)
OUTLINED_SEED = 400
EDGE_PERCENTILES = (50.0, 75.0, 90.0, 97.0, 99.0)
BLUE, ORANGE, GREEN, PINK, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#F0E442"


@dataclass(frozen=True, eq=False)
class Pixels:
    """Grey values and the pixel size, (x, y)."""

    grey: NDArray[np.float32]
    mm_per_px: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Measured:
    """Statistics of one image."""

    exponent: float
    spectrum: NDArray[np.float64]
    histogram: NDArray[np.float64]
    edges: NDArray[np.float64]
    lung_level: float


def main() -> None:
    """Measure both kinds of image, print the table, draw the pictures."""
    radiographs = [measure(image) for image in read_radiographs(Path(sys.argv[1]))]
    phantoms = [measure(phantom_pixels(FIRST_SEED + k)) for k in range(N_PHANTOMS)]
    print(table({"NIH": radiographs, "phantom": phantoms}))
    draw_statistics({"NIH radiographs": (radiographs, ORANGE), "phantoms": (phantoms, BLUE)})
    draw_sheet([phantom(seed=seed) for seed in SHEET_SEEDS])
    draw_masks(phantom(seed=OUTLINED_SEED))


def read_radiographs(folder: Path) -> list[Pixels]:
    """Read the radiographs without finding as they are: 8 bits, pixels that are not square."""
    images = pd.read_csv(folder / "images.csv")
    return [
        Pixels(
            cv2.imread(str(folder / "images" / row.file), cv2.IMREAD_GRAYSCALE).astype(np.float32),
            (row.mm_per_px_x, row.mm_per_px_y),
        )
        for row in images[images["finding_labels"] == "No Finding"].itertuples()
    ]


def phantom_pixels(seed: int) -> Pixels:
    """Make a phantom as the system uses it, in 8 bits."""
    made = phantom(seed=seed)
    return Pixels(made.quantize(8).astype(np.float32), (made.mm_per_px, made.mm_per_px))


def measure(image: Pixels) -> Measured:
    """Measure an image, whatever it comes from."""
    mean_mm = float(np.mean(image.mm_per_px))
    field = dark_fields(image.grey, mean_mm)
    spectrum = texture_spectrum(image.grey, image.mm_per_px, field)
    low, high = np.percentile(image.grey, [1, 99])
    return Measured(
        exponent=power_law_exponent(spectrum),
        spectrum=np.interp(FREQUENCIES, spectrum.frequency_per_mm, spectrum.power) / (high - low) ** 2,
        histogram=grey_histogram(image.grey, bins=40),
        edges=edge_strengths(image.grey, image.mm_per_px, percentiles=EDGE_PERCENTILES),
        lung_level=float(((image.grey[field] - low) / (high - low)).mean()) if field.any() else float("nan"),
    )


def table(groups: dict[str, list[Measured]]) -> str:
    """Markdown table of 10th, 50th and 90th percentiles."""
    lines = ["| measure | " + " | ".join(f"{name} ({len(group)})" for name, group in groups.items()) + " |"]
    lines.append("|---|" + "---:|" * len(groups))
    rows = {
        "exponent beta": lambda m: m.exponent,
        "power at 0.1 / mm (1e-4 mm2)": lambda m: 1e4 * np.interp(0.1, FREQUENCIES, m.spectrum),
        "power at 0.3 / mm (1e-4 mm2)": lambda m: 1e4 * np.interp(0.3, FREQUENCIES, m.spectrum),
        "mean level of the dark fields": lambda m: m.lung_level,
    }
    for k, percentile in enumerate(EDGE_PERCENTILES):
        rows[f"gradient, {percentile:g} % (% of the range a mm)"] = lambda m, k=k: 100 * m.edges[k]
    for name, value in rows.items():
        cells = [np.nanpercentile([value(m) for m in group], [10, 50, 90]) for group in groups.values()]
        lines.append(
            f"| {name} | " + " | ".join(f"{c[1]:.3g} ({c[0]:.3g} to {c[2]:.3g})" for c in cells) + " |"
        )
    return "\n".join(lines)


def draw_statistics(groups: dict[str, tuple[list[Measured], str]]) -> None:
    """Medians with the band from the 10th to the 90th percentile."""
    figure = empty_figure(11, 3.4)
    grey, texture, edges = figure.subplots(1, 3)
    for name, (group, colour) in groups.items():
        with_texture = [m for m in group if np.isfinite(m.exponent)]
        centres = (np.arange(40) + 0.5) / 40
        _band(grey, centres, [100 * m.histogram for m in group], colour, name)
        _band(texture, FREQUENCIES, [m.spectrum for m in with_texture], colour, name)
        _band(edges, np.array(EDGE_PERCENTILES), [100 * m.edges for m in group], colour, name)
    grey.set(title="Grey levels", xlabel="level between 1st and 99th percentile", ylabel="% of pixels")
    grey.set_ylim(0, 12)
    texture.set(title="Texture of the lungs", xlabel="frequency (1/mm)", ylabel="power / range² (mm²)")
    texture.set(xscale="log", yscale="log")
    texture.set_xticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
    texture.set_xticks([], minor=True)
    edges.set(title="Edges", xlabel="percentile of the gradient", ylabel="% of the range a mm", yscale="log")
    grey.legend(frameon=False)
    save_figure(figure, FIGURES / "phantom_statistics.svg")


def _band(axes, x, values, colour, name) -> None:
    low, middle, high = np.percentile(values, [10, 50, 90], axis=0)
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, middle, color=colour, label=name)


def draw_sheet(made: list[Phantom], *, columns: int = 4, side: int = 256) -> None:
    """Contact sheet, every phantom squeezed to a square."""
    tiles = [
        cv2.resize(p.quantize(8).astype(np.uint8), (side, side), interpolation=cv2.INTER_AREA) for p in made
    ]
    rows = [np.hstack(tiles[k : k + columns]) for k in range(0, len(tiles), columns)]
    cv2.imwrite(str(FIGURES / "phantom_sheet.png"), np.vstack(rows), [cv2.IMWRITE_PNG_COMPRESSION, 9])


def draw_masks(made: Phantom) -> None:
    """One phantom, plain and with the borders of its masks and its distractors."""
    figure = empty_figure(8, 8 * made.shape[0] / made.shape[1] / 2)
    plain, outlined = figure.subplots(1, 2)
    rows, columns = made.shape
    extent = (0, columns * made.mm_per_px, rows * made.mm_per_px, 0)
    for axes in (plain, outlined):
        axes.imshow(made.pixels, cmap="gray", vmin=0, vmax=1, extent=extent)
        axes.set_axis_off()
    x, y = ((np.arange(n) + 0.5) * made.mm_per_px for n in (columns, rows))
    masks = (
        (made.ribs, YELLOW, 0.5),
        (made.clavicles, PINK, 0.9),
        (made.heart, ORANGE, 0.9),
        (made.lungs, BLUE, 1.2),
    )
    for mask, colour, width in masks:
        outlined.contour(x, y, mask, levels=[0.5], colors=[colour], linewidths=width)
    drawn = made.distractors[made.distractors["kind"] != "rib crossing"]
    outlined.scatter(drawn["x_mm"], drawn["y_mm"], s=60, facecolors="none", edgecolors=GREEN, linewidths=1.2)
    save_figure(figure, FIGURES / "phantom_masks.png")


if __name__ == "__main__":
    main()
