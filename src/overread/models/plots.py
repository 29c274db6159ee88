"""The paper's Figure 5: the weights of the readers in the mixture.

The function returns a `matplotlib.figure.Figure`; save it with `savefig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from overread.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["reader_importance_figure"]

BAR, INTERVAL, GREY = "#0072B2", "#000000", "#595959"


def reader_importance_figure(importance: pd.DataFrame, *, confidence: float = 0.95) -> Figure:
    """Draw each reader's weight in the mixture as a bar, with its interval and the reader's name in a box.

    Parameters
    ----------
    importance
        ``reader_importance_`` of a fitted `ReaderMixture`: reader_id, importance, low, high.
    confidence
        Level of the intervals, for the caption.
    """
    from matplotlib.figure import Figure

    if not len(importance):
        raise InvalidInputError("there is no reader to draw")
    places = np.arange(len(importance))
    weight = importance["importance"].to_numpy()
    low, high = importance["low"].to_numpy(), importance["high"].to_numpy()
    figure = Figure(figsize=(max(4.5, 1.2 + 0.65 * len(importance)), 3.6), layout="constrained")
    axis = figure.subplots()
    axis.bar(places, weight, color=BAR, width=0.65, zorder=2)
    has_interval = np.isfinite(low) & np.isfinite(high)
    if has_interval.any():
        axis.vlines(
            places[has_interval], low[has_interval], high[has_interval], color=INTERVAL, lw=1.6, zorder=3
        )
        level = f"lines: {100 * confidence:g} % intervals over patients"
        axis.set_title(level, fontsize=9, color=GREY, loc="left")
    tops = np.fmax(np.fmax(weight, high), 0.0)
    for place, top, reader in zip(places, tops, importance["reader_id"], strict=True):
        axis.annotate(
            str(reader),
            (place, top),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": GREY, "linewidth": 0.8},
        )
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.margins(y=0.16)
    axis.set_xticks([])
    axis.set(xlabel="reader", ylabel="weight in the mixture")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#E5E5E5", linewidth=0.6, zorder=0)
    return figure
