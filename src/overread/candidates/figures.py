"""Picture of a radiograph with its anatomy and candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from overread.candidates.regions import Anatomy
from overread.figures import empty_figure
from overread.images import Radiograph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["overlay_figure"]

# Okabe-Ito.
ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7",
)  # fmt: skip
RIB_OPACITY = 0.45
WIDTH_INCHES = 8.0


def overlay_figure(
    radiograph: Radiograph, anatomy: Anatomy, candidates: pd.DataFrame, *, title: str = ""
) -> Figure:
    """Draw lungs, mediastinum, clavicles and ribs over a radiograph, and candidates with rank and response.

    Parameters
    ----------
    radiograph, anatomy
        The image and what was found in it.
    candidates
        Columns x_mm, y_mm, radius_mm and response, in the order in which they are numbered.
    title
        Written above.
    """
    from matplotlib.lines import Line2D

    width, height = radiograph.size_mm
    figure = empty_figure(WIDTH_INCHES, WIDTH_INCHES * min(max(height / width, 0.3), 3.0) + 0.8)
    axes = figure.add_subplot()
    extent = (0.0, width, height, 0.0)
    axes.imshow(np.clip(radiograph.pixels, 0, 1), cmap="gray", vmin=0, vmax=1, extent=extent)
    axes.imshow(tinted(anatomy.ribs, ORANGE), extent=extent)
    masks = {
        "lungs": (SKY, anatomy.left_lung, anatomy.right_lung),
        "mediastinum": (GREEN, anatomy.mediastinum),
        "clavicles": (PURPLE, anatomy.clavicles),
    }
    for colour, *parts in masks.values():
        for mask in parts:
            outline(axes, mask, extent, colour)
    numbered(axes, candidates)
    keys = [Line2D([], [], color=colour, label=name) for name, (colour, *_) in masks.items()]
    keys += [
        Line2D([], [], color=ORANGE, lw=6, alpha=RIB_OPACITY, label="ribs"),
        Line2D([], [], color=YELLOW, marker="o", mfc="none", ls="", label="candidate: rank (response)"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=8)
    axes.set(xlim=(0, width), ylim=(height, 0), xlabel="x [mm]", ylabel="y [mm]", title=title)
    return figure


def tinted(ribs: np.ndarray[tuple[int, ...], np.dtype[np.float32]], colour: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Coloured layer whose opacity is the probability of rib."""
    from matplotlib.colors import to_rgb

    layer = np.empty((*ribs.shape, 4), dtype=np.float32)
    layer[..., :3] = to_rgb(colour)
    layer[..., 3] = RIB_OPACITY * ribs
    return layer


def outline(
    axes: Axes, mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], extent: tuple[float, ...], colour: str
) -> None:
    """Draw the border of a mask, if it has one."""
    if mask.any() and not mask.all():
        axes.contour(mask, levels=[0.5], colors=colour, linewidths=1.2, extent=extent, origin="upper")


def numbered(axes: Axes, candidates: pd.DataFrame) -> None:
    """Draw candidates as circles with rank and response."""
    from matplotlib.patches import Circle

    for rank, row in enumerate(candidates.itertuples(index=False), start=1):
        axes.add_patch(Circle((row.x_mm, row.y_mm), row.radius_mm, fill=False, color=YELLOW, lw=1.0))
        axes.annotate(
            f"{rank} ({row.response:.1f})",
            (row.x_mm + 0.7 * row.radius_mm, row.y_mm - 0.7 * row.radius_mm),
            color=YELLOW,
            fontsize=6,
            clip_on=True,
        )
