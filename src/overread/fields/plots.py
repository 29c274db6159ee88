"""Picture of a field with its region and candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from overread.candidates.plots import draw_candidates, draw_outline
from overread.fields.field_image import FieldImage
from overread.plots import empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["field_figure"]

# Okabe-Ito's sky blue, as the lungs of a chest.
REGION = "#56B4E9"
WIDTH_INCHES = 8.0


def field_figure(field: FieldImage, candidates: pd.DataFrame, *, unit: str, title: str = "") -> Figure:
    """Draw a picture with the outline of its region, and candidates with rank and response.

    Parameters
    ----------
    field
        The picture.
    candidates
        Columns x_mm, y_mm, radius_mm and response, in the order in which they are numbered.
    unit
        Of the lengths, written at the axes.
    title
        Written above.
    """
    width, height = field.size_mm
    figure = empty_figure(WIDTH_INCHES, WIDTH_INCHES * min(max(height / width, 0.3), 3.0) + 0.8)
    axes = figure.add_subplot()
    extent = (0.0, width, height, 0.0)
    axes.imshow(np.clip(field.pixels, 0, 1), cmap="gray", vmin=0, vmax=1, extent=extent)
    draw_outline(axes, field.region, extent, REGION)
    draw_candidates(axes, candidates)
    axes.set(xlim=(0, width), ylim=(height, 0), xlabel=f"x [{unit}]", ylabel=f"y [{unit}]", title=title)
    return figure
