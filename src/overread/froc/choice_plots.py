"""Why a setting was chosen: out-of-fold sensitivity over the number of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from overread.plots import empty_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_settings"]

# Okabe and Ito's colours, which the colour-blind tell apart.
ACCEPTED, OTHER, CHOSEN = "#0072B2", "#999999", "#D55E00"


def plot_settings(table: pd.DataFrame, position: int, best: int, axes: Axes | None = None) -> Axes:
    """Draw every setting with one standard error, those that cannot be told from the best filled.

    Parameters
    ----------
    table
        ``table`` of a `SettingChoice`.
    position, best
        Of the chosen setting and of the best.
    axes
        Where to draw; a new figure if not given.
    """
    axes = empty_figure(6.0, 4.0).subplots() if axes is None else axes
    for accepted, colour, label in ((False, OTHER, "worse"), (True, ACCEPTED, "not told from the best")):
        rows = table[table["accepted"] == accepted]
        axes.errorbar(
            rows["n_features"],
            100 * rows["sensitivity"],
            yerr=100 * rows["standard_error"].fillna(0.0),
            fmt="o",
            markersize=4,
            linewidth=0.8,
            color=colour,
            label=label,
        )
    for row, marker, size, label in ((best, "^", 9, "best"), (position, "D", 10, "chosen")):
        place = table.iloc[row]
        axes.plot(
            place["n_features"],
            100 * place["sensitivity"],
            marker,
            markersize=size,
            markerfacecolor="none",
            markeredgecolor=CHOSEN,
            markeredgewidth=1.8,
            linestyle="none",
            label=f"{label} ({place['n_features']:.0f} features, {100 * place['sensitivity']:.1f} %)",
        )
    axes.set(xlabel="features", ylabel="out-of-fold sensitivity, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#E5E5E5", linewidth=0.6)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    return axes
