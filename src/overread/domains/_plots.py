"""An image with its regions and candidates: a radiograph with its anatomy, a picture with its region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from overread._plots import empty_figure
from overread.domains._domain import DomainImage
from overread.features import Anatomy
from overread.images import Radiograph
from overread.tables import UNIT_WORDS, LengthUnit, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Extent = tuple[float, float, float, float]

# Okabe-Ito.
ORANGE, SKY, GREEN, YELLOW, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7"
RIB_OPACITY = 0.4
WIDTH_INCHES = 8.0


def overlay_figure(
    radiograph: Radiograph, anatomy: Anatomy, candidates: pd.DataFrame, *, title: str = ""
) -> Figure:
    """Draw lungs, mediastinum, clavicles and ribs over a radiograph, and candidates with rank and response."""
    from matplotlib.lines import Line2D

    axes, extent = _show_image(radiograph, "mm", title)
    axes.imshow(tint_ribs(anatomy.ribs, ORANGE), extent=extent)
    colours = {"lungs": SKY, "mediastinum": GREEN, "clavicles": PURPLE}
    draw_outline(axes, anatomy.left_lung, extent, SKY)
    draw_outline(axes, anatomy.right_lung, extent, SKY)
    draw_outline(axes, anatomy.mediastinum, extent, GREEN)
    draw_outline(axes, anatomy.clavicles, extent, PURPLE)
    draw_candidates(axes, plain(candidates, "mm", "candidates")[0])
    keys = [Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    keys += [
        Line2D([], [], color=ORANGE, lw=6, alpha=RIB_OPACITY, label="ribs"),
        Line2D([], [], color=YELLOW, marker="o", mfc="none", ls="", label="candidate: rank (response)"),
    ]
    figure: Any = axes.figure
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=8)
    return figure


class _Searched(DomainImage, Protocol):
    """An image with the region that is searched."""

    region: NDArray[np.bool_]


def picture_figure(
    field: _Searched, candidates: pd.DataFrame, *, unit: LengthUnit, title: str = ""
) -> Figure:
    """Draw a picture with the outline of its region, and candidates with rank and response.

    Parameters
    ----------
    field
        The picture.
    candidates : DataFrame
        Columns x, y, radius and response, in the order in which they are numbered; names may end in the unit.
    unit : {'mm', 'px', 'percent'}
        Unit of the lengths.
    title : str, default=''
        Title above the figure.
    """
    axes, extent = _show_image(field, UNIT_WORDS[unit], title)
    draw_outline(axes, field.region, extent, SKY)
    draw_candidates(axes, plain(candidates, unit, "candidates")[0])
    figure: Any = axes.figure
    return figure


def _show_image(image: DomainImage, unit: str, title: str) -> tuple[Axes, Extent]:
    """Begin a figure with the pixels of an image, and say where they lie."""
    width, height = image.size_mm
    figure = empty_figure(WIDTH_INCHES, WIDTH_INCHES * min(max(height / width, 0.3), 3.0) + 0.8)
    axes = figure.add_subplot()
    extent = (0.0, width, height, 0.0)
    axes.imshow(np.clip(image.pixels, 0, 1), cmap="gray", vmin=0, vmax=1, extent=extent)
    axes.set(xlim=(0, width), ylim=(height, 0), xlabel=f"x [{unit}]", ylabel=f"y [{unit}]", title=title)
    return axes, extent


def tint_ribs(ribs: NDArray[np.float32], colour: str) -> NDArray[np.float32]:
    """Make a coloured layer whose opacity is the probability of rib."""
    from matplotlib.colors import to_rgb

    layer = np.empty((*ribs.shape, 4), dtype=np.float32)
    layer[..., :3] = to_rgb(colour)
    layer[..., 3] = RIB_OPACITY * ribs
    return layer


def draw_outline(axes: Axes, mask: NDArray[np.bool_], extent: Extent, colour: str) -> None:
    """Draw the border of a mask, if it has one."""
    if mask.any() and not mask.all():
        axes.contour(mask, levels=[0.5], colors=colour, linewidths=1.2, extent=extent, origin="upper")


def draw_candidates(axes: Axes, candidates: pd.DataFrame) -> None:
    """Draw candidates as circles with rank and response."""
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    legible = [withStroke(linewidth=1.5, foreground="black")]
    columns = candidates[["x", "y", "radius", "response"]].to_numpy(dtype=np.float64)
    for rank, (x, y, radius, response) in enumerate(columns, start=1):
        axes.add_patch(Circle((x, y), radius, fill=False, color=YELLOW, lw=1.0, path_effects=legible))
        place = x + 0.7 * radius, y - 0.7 * radius
        text = f"{rank} ({response:.1f})"
        axes.annotate(text, place, color=YELLOW, fontsize=6, clip_on=True, path_effects=legible)
