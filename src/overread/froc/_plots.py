"""Print figures: the paper's Figures 3 and 4, AFROC curves, calibration and reader studies.

Every function returns a matplotlib ``Figure`` that belongs to no window; `overread._plots.save_figure` writes it.
Colours are those of Okabe and Ito, which colour-blind people can distinguish; line style and marker carry the
same distinctions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from overread._plots import empty_figure
from overread.froc._bootstrap import bootstrap
from overread.froc._calibration import Calibration
from overread.froc._choice import AlphaChoice, SettingChoice
from overread.froc._curve import check_targets, froc_curve, operating_points
from overread.froc._defaults import FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.froc._matching import Matching
from overread.froc.merit._figures_of_merit import AfrocCurve
from overread.froc.merit._multi_reader import ReaderStudy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RED, BLACK, BLUE = "#D55E00", "#000000", "#0072B2"
COLOURS = (RED, BLACK, BLUE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY = "#8A8A8A"
MARKERS = ("o", "s", "^", "v", "P", "X", "*", "h")
# Points of a band: one every 0.09 FP per image on an axis to 3.5, finer than the eye needs.
BAND_POINTS = 41
# A little past the last target: 3.5 for the paper's 3; set by judgement.
PAST_TARGETS = 1.17
FIGURE_4 = {"gt_sensitivity": "Sensitivity", "image_sensitivity": "Image sensitivity"}
SETS = (("-", 2.4, "training + validation"), ("--", 1.6, "test"))

FrocLine = tuple[pd.DataFrame, pd.DataFrame]


def plot_froc(
    models: Mapping[str, tuple[Matching, Matching | None]],
    *,
    fp_targets: ArrayLike = FP_TARGETS,
    max_fp: float | None = None,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
    level: float = LEVEL,
) -> Figure:
    """Draw Figure 4: GT and image sensitivity against FP per image.

    Training + validation is drawn bold and the test set dashed, with diamonds at the FP targets; on the
    test set they stand at the induced FP per image. The band is the interval of "sensitivity at FP" of
    the test set, or of the first set where there is no test set.

    Parameters
    ----------
    models : mapping
        By name, in the paper's order Soft, B1, B2 (red, black, blue): training + validation set, test set
        or None.
    fp_targets : array-like, default=FP_TARGETS
        Where the diamonds stand.
    max_fp : float, optional
        Right end of the axis; default: a little past the largest target.
    n_bootstrap, seed, level
        Bootstrap of the bands; 0 replicates: no bands.
    """
    targets = check_targets(fp_targets)
    right = float(max_fp or PAST_TARGETS * targets.max())
    lines: dict[str, list[FrocLine]] = {}
    for name, (training, test) in models.items():
        points = operating_points(training, test, fp_targets=targets)
        sets = [(training, "source"), *([] if test is None else [(test, "carried")])]
        lines[name] = [(froc_curve(one).to_frame(), points[points["set"] == part]) for one, part in sets]
    figure = froc_figure(lines, max_fp=right)
    if not n_bootstrap:
        return figure
    for index, (training, test) in enumerate(models.values()):
        drawn, colour = test or training, COLOURS[index % len(COLOURS)]
        # The pointwise interval of sensitivity at FP per image, as far as the curve goes.
        grid = np.linspace(0, min(right, len(drawn.fp_scores) / drawn.n_images), BAND_POINTS)
        found = bootstrap(drawn, fp_targets=grid, n_bootstrap=n_bootstrap, seed=seed)
        for axes, measure in zip(figure.axes, FIGURE_4, strict=True):
            axes.fill_between(grid, *found.interval_of(measure, level), color=colour, alpha=0.13, linewidth=0)
    bands = f"Bands: {100 * level:g} % intervals, bootstrap over patients."
    _add_caption(figure, f"{bands} Diamonds: operating points.")
    return figure


def froc_figure(models: Mapping[str, Sequence[FrocLine]], *, max_fp: float) -> Figure:
    """Draw Figure 4 of curves and operating points that are known already.

    By name of the model: those of training + validation, and of the test set where there is one; tables with
    fp_per_image, gt_sensitivity and image_sensitivity.
    """
    figure = empty_figure(6.3, 8.2)
    panels: Any = figure.subplots(2, 1, sharex=True)
    for axes, (measure, title) in zip(panels, FIGURE_4.items(), strict=True):
        for index, (name, lines) in enumerate(models.items()):
            colour = COLOURS[index % len(COLOURS)]
            for (curve, points), (style, width, told) in zip(lines, SETS, strict=False):
                label = f"{name}, {told}" if len(lines) > 1 else name
                x, y = curve["fp_per_image"], curve[measure]
                axes.step(x, y, where="post", color=colour, linestyle=style, linewidth=width, label=label)
                diamond = {"markerfacecolor": colour if style == "-" else "white", "markeredgecolor": colour}
                x, y = points["fp_per_image"], points[measure]
                axes.plot(x, y, linestyle="none", marker="D", markersize=5.5, zorder=4, **diamond)
        # A line at 100 % is seen whole.
        _finish_axes(axes, "", title, ylim=(0, 1.015), percent=True)
        axes.set_xlim(0, max_fp)
    panels[1].set_xlabel("False positives per image")
    panels[0].legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def plot_alpha_choice(choice: AlphaChoice) -> Figure:
    """Draw Figure 3: sensitivity against lambda, training bold, validation dashed, their difference below.

    GT sensitivity is red, image sensitivity blue. Grey marks the accepted alphas, the line the chosen
    one; below them the number of features, and how often bootstraps choose each lambda. Only the chosen
    normalization is drawn.
    """
    table, frequencies = choice.table, choice.frequencies
    if choice.normalization is not None:
        table, frequencies = (
            one[one["normalization"] == choice.normalization] for one in (table, frequencies)
        )
    targets = list(dict.fromkeys(table["fp_target"]))
    shared: dict[str, Any] = {
        "sharex": True,
        "sharey": "row",
        "squeeze": False,
        "height_ratios": (3, 1.5, 1.2, 1),
    }
    figure = empty_figure(3.6 * len(targets) + 0.6, 8.6)
    rows: Any = figure.subplots(4, len(targets), **shared)
    for column, target in enumerate(targets):
        part = table[table["fp_target"] == target].sort_values("lam")
        upper, lower, counts, last = (row[column] for row in rows)
        for axes in (upper, lower, counts):
            _shade_accepted(axes, part)
            axes.axvline(choice.alpha, color=GREY, linewidth=1)
        counts.plot(part["lam"], part["n_features"], color=BLACK, linewidth=1.4)
        for measure, colour in (("gt_sensitivity", RED), ("image_sensitivity", BLUE)):
            for told, dash, width in (("training", "-", 2.4), ("validation", "--", 1.6)):
                label = f"{FIGURE_4[measure]}, {told}"
                upper.plot(
                    part["lam"], part[f"{told}_{measure}"], color=colour, ls=dash, lw=width, label=label
                )
            lower.plot(part["lam"], part[f"{measure}_gap"], color=colour, linewidth=1.4)
        lower.axhline(0, color=BLACK, linewidth=0.6)
        last.vlines(frequencies["lam"], 0, frequencies["frequency"], color=BLACK, linewidth=3)
        last.axvline(choice.alpha, color=GREY, linewidth=1, zorder=0)
        last.set_ylim(bottom=0)
        titles = ("Sensitivity", "Training -\nvalidation", "Features", "Chosen in\nbootstraps")
        for axes, title in zip((upper, lower, counts, last), titles, strict=True):
            xlabel, ylabel = "lambda" if axes is last else "", title if column == 0 else ""
            _finish_axes(axes, xlabel, ylabel, percent=axes is not counts)
        upper.set_title(f"{target:g} FP per image", fontsize=10)
        _log_alpha_axis(last)
    handles, labels = rows[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    accepted = (
        "grey: accepted" if choice.intersects else "no lambda is accepted at every number of false positives"
    )
    normalization = "" if choice.normalization is None else f", normalization {choice.normalization}"
    chosen = f"Chosen: lambda = {choice.alpha:.4g}{normalization}, {choice.n_features} features"
    _add_caption(figure, f"{chosen}; {accepted}.")
    return figure


def plot_setting_choices(choices: Mapping[str, SettingChoice]) -> Figure:
    """Draw Figure 3 for our rule: out-of-fold sensitivity of every setting against its number of features.

    All models are in one panel, each in its colour. A bar is one standard error of the paired difference to the best
    setting. Filled settings are accepted; the diamond is the chosen one, the sparsest of them.
    """
    from matplotlib.ticker import ScalarFormatter

    figure = empty_figure(5.4, 4.2)
    axes = figure.subplots()
    for index, (name, choice) in enumerate(choices.items()):
        _draw_choice(axes, choice, name, COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])
    targets = ", ".join(f"{fp:g}" for fp in next(iter(choices.values())).fp_targets)
    label = f"Sensitivity, mean over {targets} FP per image"
    _finish_axes(axes, "Features (mean over folds)", label, percent=True)
    # Linear up to 10 features, so that a model without any has a place; set by judgement.
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    _add_caption(
        figure,
        "Filled: within one standard error (bars) of the best.\nDiamond: chosen, with the fewest features.",
    )
    return figure


def _draw_choice(axes: Axes, choice: SettingChoice, model: str, colour: str, marker: str) -> None:
    table = choice.table
    groups = table.groupby("normalization", sort=False) if "normalization" in table else [("", table)]
    several = len(list(groups)) > 1
    for (name, rows), dash in zip(groups, ("-", "--", ":"), strict=False):
        part = rows.sort_values("n_features")
        label = f"{model}, normalization {name!s}" if several else model
        x, y = part["n_features"], part["sensitivity"]
        axes.plot(x, y, color=colour, linestyle=dash, linewidth=0.8, alpha=0.5)
        bars: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": 0.7, "alpha": 0.4}
        axes.errorbar(x, y, yerr=part["difference_error"], **bars)
        fill = [colour if accepted else "white" for accepted in part["accepted"]]
        points: dict[str, Any] = {"s": 18, "facecolors": fill, "edgecolors": colour, "linewidths": 0.9}
        axes.scatter(x, y, marker=marker, label=label, zorder=3, **points)
    chosen = table.iloc[choice.position]
    place = [chosen["n_features"]], [chosen["sensitivity"]]
    axes.scatter(*place, s=90, marker="D", facecolors="none", edgecolors=BLACK, zorder=4)


def _log_alpha_axis(axes: Axes) -> None:
    """Logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=8)


def _shade_accepted(axes: Axes, part: pd.DataFrame) -> None:
    """Grey stripe at every accepted lambda, reaching half-way to its neighbours."""
    logs = np.log(part["lam"].to_numpy())
    middles = (logs[1:] + logs[:-1]) / 2
    edges = np.exp(np.concatenate([logs[:1], middles, logs[-1:]]))
    for low, high, accepted in zip(edges[:-1], edges[1:], part["accepted"], strict=True):
        if accepted:
            axes.axvspan(low, high, color="#E3E3E3", linewidth=0, zorder=0)


def plot_afroc(curves: Mapping[str, AfrocCurve]) -> Figure:
    """Draw AFROC curves; the legend has their areas, which are the figures of merit."""
    figure = empty_figure(5.2, 5.0)
    axes = figure.subplots()
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        x, y = curve.false_positive_fraction, curve.lesion_fraction
        label = f"{name}: {curve.figure} = {curve.area:.3f}"
        axes.plot(x[:-1], y[:-1], color=colour, linewidth=1.6, label=label)
        # The last piece joins what was marked to (1, 1): it is not an observation, so it is thin.
        axes.plot(x[-2:], y[-2:], color=colour, linewidth=0.8, linestyle=":")
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.7)
    every_case = all(curve.figure.endswith("1") for curve in curves.values())
    cases = "cases" if every_case else "cases without lesions"
    weighted = all(curve.figure.startswith("w") for curve in curves.values())
    ylabel = "Weighted share of lesions found" if weighted else "Share of lesions found"
    _finish_axes(axes, f"Share of {cases} with a false positive", ylabel, ylim=(0, 1.01))
    axes.set_xlim(0, 1.01)
    axes.set_aspect("equal")
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def plot_calibration(models: Mapping[str, Calibration]) -> Figure:
    """Draw mean soft label against mean probability with intervals, and how many bags each bin has."""
    figure = empty_figure(5.2, 6.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    top.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="perfect")
    largest, most = 0.0, 1.0
    for index, (name, result) in enumerate(models.items()):
        colour, curve = COLOURS[index % len(COLOURS)], result.reliability
        low, high = curve.mean_label - curve.label_lower, curve.label_upper - curve.mean_label
        slope = result.slope
        told = "undefined" if np.isnan(slope.estimate) else f"{slope.estimate:.2f}"
        limits = "" if np.isnan(slope.lower) else f" ({slope.lower:.2f} to {slope.upper:.2f})"
        label = f"{name}: slope {told}{limits}, Brier {result.brier.estimate:.4f}"
        marker: dict[str, Any] = {"marker": MARKERS[index % len(MARKERS)], "markersize": 4.5, "color": colour}
        bars = {"yerr": np.nan_to_num(np.clip([low, high], 0, None)), "elinewidth": 0.9, "capsize": 2}
        top.errorbar(curve.mean_probability, curve.mean_label, linewidth=1.4, label=label, **bars, **marker)
        bottom.plot(curve.mean_probability, curve.n_bags, linestyle="none", **marker)
        reach = np.concatenate([curve.mean_probability, curve.mean_label, curve.label_upper])
        largest, most = max(largest, float(np.nanmax(reach))), max(most, float(np.max(curve.n_bags)))
    right = min(1.0, 1.08 * largest)
    _finish_axes(top, "", "Mean soft label", ylim=(0, right))
    _finish_axes(bottom, "Mean predicted probability", "Bags")
    # Room for a whole marker above the largest bin: bins of equal size all lie there.
    bottom.set_ylim(0, 1.25 * most)
    top.set_xlim(0, right)
    top.legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def plot_reader_study(study: ReaderStudy) -> Figure:
    """Draw each reader's figure of merit with each modality, the means, and the differences."""
    width = 1.1 * len(study.modalities) + 1.6
    figure = empty_figure(2 * width + 1.2, 4.4)
    left, right = figure.subplots(1, 2)
    places = np.arange(len(study.modalities))
    for j, reader in enumerate(study.readers):
        marker: dict[str, Any] = {"marker": MARKERS[j % len(MARKERS)], "markersize": 4.5}
        left.plot(places, study.figures[:, j], color=GREY, linewidth=0.9, label=f"reader {reader}", **marker)
    means = [mean.estimate for mean in study.means]
    limits = np.abs(np.array([[mean.lower, mean.upper] for mean in study.means]).T - means)
    left.errorbar(places, means, yerr=limits, color=BLUE, linewidth=2, capsize=4, marker="D", label="mean")
    left.set_xticks(places, study.modalities)
    left.set_xlim(-0.4, len(places) - 0.6)
    # All figures of merit are areas.
    lowest, highest = left.get_ylim()
    left.set_ylim(max(lowest, -0.02), min(highest, 1.02))
    left.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _finish_axes(left, "", study.figure)
    _draw_differences(right, study)
    verdict = f"p = {study.p_value:.3g}" if np.isfinite(study.p_value) else "no estimate of error"
    equal = f"Random: {study.random}. Equal modalities: {verdict}."
    _add_caption(figure, f"{equal} {100 * study.level:g} % intervals.")
    return figure


def _draw_differences(axes: Axes, study: ReaderStudy) -> None:
    """Differences of modalities as a forest plot."""
    rows = np.arange(len(study.differences))[::-1]
    for row, difference in zip(rows, study.differences, strict=True):
        axes.plot([difference.lower, difference.upper], [row, row], color=BLUE, linewidth=2)
        axes.plot(difference.estimate, row, color=BLUE, marker="D")
    axes.axvline(0, color=BLACK, linewidth=0.7)
    names = [f"{d.modality_a} - {d.modality_b}" for d in study.differences]
    axes.set_yticks(rows, names)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    _finish_axes(axes, f"Difference in {study.figure}", "")


def _finish_axes(
    axes: Axes, xlabel: str, ylabel: str, *, ylim: tuple[float, float] | None = None, percent: bool = False
) -> None:
    """Labels, limits, a faint grid, no frame on top and right."""
    from matplotlib.ticker import PercentFormatter

    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if ylim is not None:
        axes.set_ylim(*ylim)
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _add_caption(figure: Figure, text: str) -> None:
    """One line of small print under the axes."""
    figure.supxlabel(text, fontsize=8, color="#444444")
