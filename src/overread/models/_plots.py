"""The paper's Figure 5, the weights of the readers in the mixture; and the coefficients along a path of penalties.

matplotlib is imported where a figure is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from overread._plots import empty_figure
from overread.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from overread.models._path import SoftMILPath


BAR, INTERVAL, GREY, SENSITIVITY = "#0072B2", "#000000", "#595959", "#D55E00"


def reader_importance_figure(
    importance: pd.DataFrame, readers: pd.DataFrame | None = None, *, confidence: float = 0.95
) -> Figure:
    """Draw each reader's weight in the mixture as a bar, with its interval and the reader's name in a box.

    ``importance`` is ``reader_importance_`` of a `ReaderMixture`. ``readers``, a table of reader_id and sensitivity,
    are drawn above in their order (the paper's Figure 2b); one without a weight is named as left out.
    """
    if not len(importance):
        raise InvalidInputError("there is no reader to draw")
    order = importance["reader_id"] if readers is None else readers["reader_id"]
    importance = importance.set_index("reader_id").reindex(order).reset_index()
    places = np.arange(len(importance))
    weight = importance["importance"].to_numpy()
    low, high = importance["low"].to_numpy(), importance["high"].to_numpy()
    figure = empty_figure(max(4.8, 1.2 + 0.65 * len(importance)), 3.6 if readers is None else 5.2)
    *above, axis = figure.subplots(
        1 if readers is None else 2,
        1,
        sharex=True,
        squeeze=False,
        height_ratios=None if readers is None else (2, 3),
    )[:, 0]
    for upper in above:
        assert readers is not None
        upper.bar(places, readers["sensitivity"], color=SENSITIVITY, width=0.65, zorder=2)
        upper.set(ylabel="sensitivity", ylim=(0, 1))
        _finish(upper)
    axis.bar(places, weight, color=BAR, width=0.65, zorder=2)
    has_interval = np.isfinite(low) & np.isfinite(high)
    if has_interval.any():
        axis.vlines(
            places[has_interval], low[has_interval], high[has_interval], color=INTERVAL, lw=1.6, zorder=3
        )
        level = f"lines: {100 * confidence:g} % intervals over patients"
        axis.set_title(level, fontsize=9, color=GREY, loc="left")
    tops = np.nan_to_num(np.fmax(np.fmax(weight, high), 0.0))
    for place, top, reader in zip(places, tops, importance["reader_id"], strict=True):
        axis.annotate(
            f"{reader}\nleft out" if np.isnan(weight[place]) else str(reader),
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
    _finish(axis)
    return figure


def _finish(axis: Axes) -> None:
    """Draw a faint grid and no frame on top and right."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#E5E5E5", linewidth=0.6, zorder=0)


def plot_path(
    path: SoftMILPath, axes: Axes | None = None, *, chosen: int | None = None, n_named: int = 6
) -> Axes:
    """Draw the coefficients of a fitted path, per standard deviation of their feature, over its penalties."""
    axes = empty_figure(7.0, 4.2).subplots() if axes is None else axes
    weights = path.coef_path_ * path.scale_
    used = np.flatnonzero(weights.any(axis=0))
    # A penalty of 0 has no place on a scale of logarithms.
    positive = path.alphas_[path.alphas_ > 0]
    alphas = np.maximum(path.alphas_, positive.min(initial=1.0) / 2)
    axes.plot(alphas, weights[:, used], color=BAR, linewidth=1.0, alpha=0.6)
    axes.set_xscale("log")
    axes.set_xlim(alphas.max() * 1.05, alphas.min() / 1.05)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set(xlabel="penalty", ylabel="coefficient per standard deviation")
    if chosen is not None:
        told = f"chosen: {path.alphas_[chosen]:.3g}, {path.n_features_[chosen]} features"
        axes.axvline(alphas[chosen], color=INTERVAL, linestyle="--", linewidth=1.2, label=told)
        axes.legend(loc="best", frameon=False, fontsize=9)
    _name_ends(axes, path, weights, used[np.argsort(-np.abs(weights[-1, used]))][:n_named], alphas[-1])
    _count_above(axes, alphas, path.n_features_)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _name_ends(axes: Axes, path: SoftMILPath, weights: Any, named: Any, end: float) -> None:
    """Write names next to the ends of some curves, without overlap."""
    names = getattr(path, "feature_names_in_", None)
    low, high = axes.get_ylim()
    gap, last = 0.055 * (high - low), -np.inf
    for column in sorted(named, key=lambda one: weights[-1, one]):
        last = max(weights[-1, column], last + gap)
        axes.annotate(
            str(column) if names is None else str(names[column]),
            (end, weights[-1, column]),
            xytext=(1.02, last),
            textcoords=axes.get_yaxis_transform(),
            fontsize=8,
            va="center",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5},
        )


def _count_above(axes: Axes, alphas: Any, n_features: Any) -> None:
    """Write the number of features of some penalties over the axes."""
    shown = np.unique(np.linspace(0, len(alphas) - 1, min(len(alphas), 7)).round().astype(int))
    for place in shown:
        axes.annotate(
            str(n_features[place]),
            (alphas[place], 1.01),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=8,
            color=GREY,
        )
    axes.set_title("features:", loc="left", fontsize=8, color=GREY, pad=14)
