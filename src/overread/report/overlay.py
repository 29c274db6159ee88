"""An image with the detector's marks on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from overread.fields import FieldImage
from overread.images import Radiograph
from overread.plots import empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["detections_figure"]

SHOWN, HIDDEN = "#E69F00", "#56B4E9"
N_HIDDEN = 10


def detections_figure(
    radiograph: Radiograph | FieldImage, detections: pd.DataFrame, *, unit: str = "mm"
) -> Figure:
    """Draw detections above the threshold solid with their probability or rank, the next ten candidates dotted.

    Parameters
    ----------
    radiograph
        The image.
    detections
        x_mm, y_mm, radius_mm, probability, rank, shown; by falling score. Without probabilities ranks are written.
    unit
        Of the lengths, written at the axis.
    """
    from matplotlib.patches import Circle

    width, height = radiograph.size_mm
    figure = empty_figure(7.0, 7.0 * height / width + 0.4)
    axes = figure.subplots()
    extent = (0, width, height, 0)
    if isinstance(radiograph, FieldImage) and radiograph.pixels.ndim == 3:
        # Colours are shown as they are: stretched ones would be others.
        axes.imshow(np.clip(radiograph.pixels, 0, 1), extent=extent)
    else:
        seen = radiograph.region if isinstance(radiograph, FieldImage) else radiograph.valid
        low, high = np.percentile(radiograph.pixels[seen], [1, 99.5])
        axes.imshow(radiograph.pixels, cmap="gray", vmin=low, vmax=high, extent=extent)
    shown = detections[detections["shown"].to_numpy(bool)]
    hidden = detections[~detections["shown"].to_numpy(bool)].head(N_HIDDEN)
    for table, colour, style, thickness in ((hidden, HIDDEN, ":", 1.0), (shown, SHOWN, "-", 1.8)):
        for x, y, radius in table[["x_mm", "y_mm", "radius_mm"]].to_numpy(np.float64):
            axes.add_patch(
                Circle((x, y), radius, fill=False, edgecolor=colour, linestyle=style, linewidth=thickness)
            )
    has_ranks = bool(detections["probability"].isna().any())
    kind = "rank" if has_ranks else "probability"
    columns = ["x_mm", "y_mm", "radius_mm", kind]
    for x, y, radius, certainty in shown[columns].to_numpy(np.float64):
        axes.annotate(
            f"#{certainty:.0f}" if has_ranks else f"{certainty:.2f}",
            (x + 0.8 * radius, y - 0.8 * radius),
            color=SHOWN,
            fontsize=9,
            weight="bold",
        )
    axes.set_title(
        f"{len(shown)} shown (solid, with {kind}), next {len(hidden)} candidates dotted",
        fontsize=9,
        loc="left",
    )
    axes.set(xlabel=unit, xlim=(0, width), ylim=(height, 0))
    return figure
