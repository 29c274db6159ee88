"""Figures of a scenario: growth, lines of equal performance, soft against hard, few images of a reader, shares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from overread._plots import empty_figure
from overread.apps.scenario._contenders import KNOW_READERS, title_of
from overread.apps.scenario._results import MEAN, ScenarioResults, choose_pool
from overread.report import write_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe and Ito's colours, which people with colour blindness can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
HARD = "Hard: "


def draw_scenario(results: ScenarioResults) -> dict[str, str]:
    """Draw the figures, as SVG by name: growth, rules, equal, shares, per_reader; as far as the design allows them."""
    drawn = {
        "growth": write_svg("growth", lambda: _draw_growth(results)),
        "shares": write_svg("shares", lambda: _draw_shares(results)),
    }
    if len(results.comparisons):
        drawn["rules"] = write_svg("rules", lambda: _draw_rules(results.comparisons))
    surface = _surface(results)
    if min(surface.shape) > 1:
        drawn["equal"] = write_svg("equal", lambda: _draw_equal_performance(surface, results.budgets))
    if results.per_reader["images_per_reader"].any():
        drawn["per_reader"] = write_svg("per_reader", lambda: _draw_per_reader(results))
    return drawn


def _draw_growth(results: ScenarioResults) -> Figure:
    """Sensitivity against images, one line per number of readings; and at the most readings, one line per model."""
    figure = empty_figure(6.5, 7.0)
    left, right = figure.subplots(2, 1, sharey=True)
    table = _of_mean(results)
    own = table[table["model"] == results.leading]
    for colour, (readings, curve) in zip(COLOURS, own.groupby("readings"), strict=False):
        _draw_line(left, curve, {"color": colour}, f"{readings} reading{'s' if readings != 1 else ''}")
    most = table[table["readings"] == table["readings"].max()]
    for number, (model, curve) in enumerate(most.groupby("model", sort=False)):
        shift = 1 + 0.015 * (number - 3)
        _draw_line(right, curve.assign(images=curve["images"] * shift), _style(number), title_of(model))
    right.legend(fontsize=7, frameon=False, ncols=3, loc="lower right")
    left.set_title(f"{title_of(results.leading)}, by readings per image", fontsize=10)
    right.set_title(f"{most['readings'].max()} readings per image, by model", fontsize=10)
    for axes in (left, right):
        axes.set_ylabel("sensitivity, mean of the FP targets")
        _label_counts(axes, own["images"])
    _frame(left, [*own["estimate"], *most["estimate"]])
    return figure


def _frame(axes: Axes, shares: Iterable[float]) -> None:
    """Limit the axis to 1.5 times the range of the shares: wide intervals of few seeds would flatten the rest."""
    given = np.array(list(shares))
    room = max(0.05, 0.5 * float(np.ptp(given)))
    axes.set_ylim(max(float(given.min()) - room, 0.0), min(float(given.max()) + room, 1.0))


def _of_mean(results: ScenarioResults) -> pd.DataFrame:
    table = results.sensitivity
    own = table[(table["judge"] == results.judge) & (table["fp_per_image"] == MEAN)]
    return own[own["images_per_reader"] == choose_pool(own["images_per_reader"])]


def _style(number: int) -> dict[str, Any]:
    """Return colour and line of a model; colours repeat with dashed lines."""
    again, colour = divmod(number, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": "--" if again else "-"}


def _draw_line(axes: Axes, curve: pd.DataFrame, style: dict[str, Any], label: str, x: str = "images") -> None:
    curve = curve.sort_values(x)
    below, above = curve["estimate"] - curve["lower"], curve["upper"] - curve["estimate"]
    axes.errorbar(
        curve[x],
        curve["estimate"],
        yerr=np.nan_to_num(np.array([below, above])),
        label=label,
        marker="o",
        markersize=3.5,
        linewidth=1.3,
        elinewidth=0.8,
        capsize=2,
        **style,
    )
    axes.legend(fontsize=7, frameon=False)


def _label_counts(axes: Axes, counts: Iterable[float], what: str = "training images") -> None:
    """Set a logarithmic scale with labels at the counts."""
    axes.set_xscale("log")
    ticks = sorted(set(counts))
    axes.set_xticks(ticks, [f"{value:,.0f}" for value in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(what)
    axes.grid(alpha=0.25)


def _draw_rules(comparisons: pd.DataFrame) -> Figure:
    """Soft minus each hard rule with its interval, one row per condition; significant differences are filled."""
    rules = list(dict.fromkeys(comparisons["rule"]))
    conditions = sorted({(row.readings, row.images) for row in comparisons.itertuples()})
    n_columns = min(2, len(rules))
    n_rows = -(-len(rules) // n_columns)
    figure = empty_figure(6.5, n_rows * (1.0 + 0.2 * len(conditions)))
    panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(rules) :]:
        axes.set_visible(False)
    for axes, rule, colour in zip(panels.flat, rules, COLOURS, strict=False):
        own = comparisons[comparisons["rule"] == rule]
        rows = [conditions.index((row.readings, row.images)) for row in own.itertuples()]
        told = own["result"] != "not distinguished"
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.hlines(rows, 100 * own["lower"], 100 * own["upper"], color=colour, linewidth=1)
        axes.scatter(
            100 * own["difference"], rows, s=18, edgecolors=colour, zorder=3,
            facecolors=[colour if one else "white" for one in told],
        )  # fmt: skip
        axes.set_title(f"soft - {title_of(rule).removeprefix(HARD)}", fontsize=9)
        axes.set_xlabel("points of sensitivity", fontsize=8)
        axes.grid(alpha=0.25)
    panels[0, 0].set_yticks(
        range(len(conditions)), [f"{images:,} x {readings}" for readings, images in conditions]
    )
    # As in _frame: wide intervals of few seeds are cut.
    reach = max(3.0, 200 * float(comparisons["difference"].abs().max()))
    panels[0, 0].set_xlim(-reach, reach)
    for axes in panels[:, 0]:
        axes.set_ylabel("images x readings")
    return figure


def _surface(results: ScenarioResults) -> pd.DataFrame:
    table = _of_mean(results)
    own = table[table["model"] == results.leading]
    return own.pivot(index="readings", columns="images", values="estimate").dropna(axis="columns")


def _draw_equal_performance(surface: pd.DataFrame, budgets: pd.DataFrame) -> Figure:
    """Sensitivity by images and readings, with lines of equal sensitivity and of equal budget, and the best of each."""
    figure = empty_figure(6.5, 4.4)
    axes = figure.subplots()
    images, readings = (np.array(values, dtype=float) for values in (surface.columns, surface.index))
    values = 100 * surface.to_numpy(dtype=float)
    if np.ptp(values) > 0:
        axes.contour(images, readings, values, levels=6, cmap="viridis", linewidths=1)
    for budget in sorted(set(budgets["budget"])):
        span = np.array([readings[0], readings[-1]])
        axes.plot(budget / span, span, color="#999999", linewidth=0.9, linestyle=":", zorder=1)
    for row, column in np.ndindex(values.shape):
        axes.annotate(
            f"{values[row, column]:.1f}", (images[column], readings[row]), (0, 7), textcoords="offset points",
            ha="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
        )  # fmt: skip
    across, up = np.meshgrid(images, readings)
    axes.scatter(across, up, s=16, facecolors="white", edgecolors="#555555", zorder=3)
    best = budgets[budgets["is_best"].astype(bool)]
    axes.scatter(
        best["images"], best["readings"], s=34, color="#D55E00", zorder=4, label="best of its budget"
    )
    axes.set_yscale("log")
    axes.set_yticks(readings, [f"{value:g}" for value in readings])
    axes.set_yticks([], minor=True)
    _label_counts(axes, images)
    axes.set_xlim(images[0] * 0.85, images[-1] * 1.18)
    axes.set_ylim(readings[0] * 0.85, readings[-1] * 1.25)
    axes.set_ylabel("readings per image")
    if len(best):
        figure.legend(fontsize=8, loc="outside upper right", frameon=False)
    return figure


def _draw_shares(results: ScenarioResults) -> Figure:
    """Deviance explained, rank correlation and slope against readings, at the most images, one line per model."""
    table = results.prediction
    pool = choose_pool(table["images_per_reader"])
    chosen = table[(table["images"] == table["images"].max()) & (table["images_per_reader"] == pool)]
    figure = empty_figure(6.5, 8.0)
    panels = figure.subplots(3, 1, sharex=True)
    names = {
        "deviance_explained": "deviance explained",
        "spearman": "rank correlation",
        "slope": "calibration slope",
    }
    for axes, (name, title) in zip(panels, names.items(), strict=True):
        for number, (model, curve) in enumerate(
            chosen[chosen["figure"] == name].groupby("model", sort=False)
        ):
            curve = curve.sort_values("readings")
            axes.plot(
                curve["readings"],
                curve["estimate"],
                marker="o",
                markersize=3,
                label=title_of(model),
                **_style(number),
            )
        axes.set_title(title, fontsize=9)
        _label_counts(axes, chosen["readings"], "readings per training image")
    panels[2].axhline(1, color="#888888", linewidth=0.8)
    panels[0].legend(fontsize=7, frameon=False)
    return figure


def _draw_per_reader(results: ScenarioResults) -> Figure:
    """Growth with the fewest images per reader; and, by images per reader, models with reader identity minus soft."""
    figure = empty_figure(6.5, 7.0)
    left, right = figure.subplots(2, 1)
    table = results.per_reader
    fewest = int(table.loc[table["images_per_reader"] > 0, "images_per_reader"].min())
    grown = results.sensitivity
    grown = grown[
        (grown["judge"] == results.judge)
        & (grown["fp_per_image"] == MEAN)
        & (grown["images_per_reader"] == fewest)
        & (grown["readings"] == grown["readings"].max())
    ]
    chosen = ["soft", *KNOW_READERS]
    for number, (model, curve) in enumerate(grown[grown["model"].isin(chosen)].groupby("model", sort=False)):
        shift = 1 + 0.015 * (number - 2)
        _draw_line(left, curve.assign(images=curve["images"] * shift), _find_style(model), title_of(model))
    left.set_title(f"{fewest} images per reader: more images, more readers", fontsize=10)
    left.set_ylabel("sensitivity, mean of the FP targets")
    _label_counts(left, grown["images"])
    _frame(left, grown.loc[grown["model"].isin(chosen), "estimate"])
    _draw_against_soft(right, table[table["model"].isin(KNOW_READERS)])
    return figure


def _find_style(model: object) -> dict[str, Any]:
    """Return the style of a model, the same in both panels."""
    return _style(("soft", *KNOW_READERS).index(str(model)))


def _draw_against_soft(axes: Axes, table: pd.DataFrame) -> None:
    limits = sorted(set(table["images_per_reader"]), key=lambda own: own or np.inf)
    values = ["estimate", "lower", "upper"]
    for number, (model, curve) in enumerate(table.groupby("model", sort=False)):
        places = [limits.index(own) + 0.06 * (number - 1.5) for own in curve["images_per_reader"]]
        in_points = curve[values] * 100
        _draw_line(axes, in_points.assign(place=places), _find_style(model), title_of(model), "place")
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(limits)), [f"{own:,}" if own else "all" for own in limits])
    axes.set_xlabel("images per reader, at the most readings")
    axes.set_ylabel("points of sensitivity above soft")
    axes.set_title("mean of all training sets", fontsize=10)
    axes.grid(alpha=0.25)
