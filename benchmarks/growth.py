"""How the cost of our path grows with rows, columns, lambdas and positives; drawn in ``docs/figures``."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import problem
from benchmarks.rows import Row
from benchmarks.solvers import Task, ours

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "solver_growth.svg"
BASE = {"rows": 20_000, "columns": 1_000, "lambdas": 30, "positives": 200}
TOLERANCE = 3e-3
GRIDS = {
    "rows": (2_500, 5_000, 10_000, 20_000, 40_000, 80_000),
    "columns": (125, 250, 500, 1_000, 2_000, 4_000),
    "lambdas": (4, 8, 15, 30, 60, 120),
    "positives": (50, 100, 200, 400, 800, 1_600),
}
BLUE, GREY = "#0072B2", "#595959"


def run(*, quick: bool) -> list[Row]:
    scale = 4 if quick else 1
    curves = {}
    for name, grid in GRIDS.items():
        values = [max(1, value // scale) if name in ("rows", "columns") else value for value in grid]
        curves[name] = [(value, _seconds(BASE | {name: value}, repeats=3)) for value in values]
    if not quick:
        _draw(curves)
    return [_row(name, points) for name, points in curves.items()]


def _seconds(setting: dict[str, int], *, repeats: int) -> float:
    share = setting["positives"] / setting["rows"]
    data = problem.generate(setting["rows"], setting["columns"], seed=11, positives=share)
    p, omega = data.labels("hard")
    lambdas = problem.lambda_path(data.X, p, omega, end=0.05, count=setting["lambdas"])
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats + 1):
            start = time.process_time()
            ours(data, Task("hard", lambdas, TOLERANCE))
            times.append(time.process_time() - start)
    return median(times[1:])


def _row(name: str, points: list[tuple[int, float]]) -> Row:
    note = ", ".join(f"{value:,}: {seconds:.3g} s" for value, seconds in points)
    what = f"growth of the path in {name}, {points[0][0]:,} to {points[-1][0]:,}"
    return Row(what, _exponent(points), None, None, "exponent", note)


def _exponent(points: list[tuple[int, float]]) -> float:
    """Slope of log time over log size, by least squares over the upper half of the grid."""
    upper = np.log(np.array(points[len(points) // 2 - 1 :]))
    return float(np.polyfit(upper[:, 0], upper[:, 1], 1)[0])


def _draw(curves: dict[str, list[tuple[int, float]]]) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    figure = Figure(figsize=(9, 2.9), layout="constrained")
    axes = figure.subplots(1, len(curves), sharey=True)
    for axis, (name, points) in zip(axes, curves.items(), strict=True):
        sizes, seconds = np.array(points).T
        middle = len(sizes) // 2
        axis.loglog(sizes, seconds, "o-", color=BLUE, linewidth=1.8, markersize=4.5)
        axis.loglog(sizes, seconds[middle] * sizes / sizes[middle], ":", color=GREY, linewidth=1)
        fixed = [f"{value:,} {key}" for key, value in BASE.items() if key != name]
        axis.set_title(f"at {fixed[0]},\n{fixed[1]}, {fixed[2]}", fontsize=8, color=GREY)
        axis.set_xlabel(f"{name} (exponent {_exponent(points):.2f})", fontsize=9)
        axis.set_xticks(sizes[::2], [f"{int(size):,}" for size in sizes[::2]])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#E5E5E5", linewidth=0.6)
    axes[0].set_ylabel("processor time of a path, s", fontsize=9)
    axes[0].annotate("dotted: linear", (0.04, 0.92), xycoords="axes fraction", fontsize=8, color=GREY)
    FIGURE.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "overread", "svg.fonttype": "path"}):
        figure.savefig(FIGURE, metadata={"Date": None})
