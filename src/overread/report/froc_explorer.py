"""The FROC curves of the test set, to hover over and to choose an operating point on.

The picture and the first numbers stand in the page; a small script only moves the operating point. Every number
it shows was computed here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from overread.froc import Bootstrap, FrocCurve, Matching, bootstrap, froc_curve

__all__ = ["froc_explorer"]

COLOURS = ("#D55E00", "#000000", "#0072B2", "#009E73", "#CC79A7")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 2")
N_STEPS = 60
LEFT, RIGHT, TOP, BOTTOM = 60.0, 680.0, 15.0, 345.0
SHOWN = ("gt_sensitivity", "image_sensitivity")


def froc_explorer(
    matchings: Mapping[str, Matching],
    *,
    max_fp: float = 3.0,
    first_fp: float = 1.0,
    n_bootstrap: int = 500,
    seed: int = 0,
    level: float = 0.95,
) -> str:
    """HTML of the curves, a slider, and a table that follows it.

    Parameters
    ----------
    matchings
        Each model's scores on the test set.
    max_fp, first_fp
        Right end of the axis, and where the slider stands at first, in false positives per image.
    n_bootstrap, seed, level
        Of the intervals, over patients.
    """
    targets = np.linspace(0, max_fp, N_STEPS + 1)
    points = {
        name: points_of(bootstrap(matching, fp_targets=targets, n_bootstrap=n_bootstrap, seed=seed), level)
        for name, matching in matchings.items()
    }
    start = int(np.argmin(np.abs(targets - first_fp)))
    data = {
        "left": LEFT,
        "right": RIGHT,
        "max_fp": max_fp,
        "fp_targets": targets.tolist(),
        "models": list(points.values()),
    }
    # "</" would end the script element early, wherever it came from.
    text = json.dumps(data, allow_nan=False).replace("</", "<\\/")
    script = files("overread.report").joinpath("froc_explorer.js").read_text()
    return (
        f'<div class="explorer"><figure>{picture(matchings, points, targets, start)}'
        "<figcaption>Share of golden objects found against false positives per image, test set. "
        f"Bands: {100 * level:g} % intervals over patients. "
        "Move over the curves, or use the slider.</figcaption></figure>"
        f"<label>False positives per image: <output>{targets[start]:.2f}</output>"
        f'<input type="range" min="0" max="{N_STEPS}" value="{start}" aria-label="False positives per image"></label>'
        f'<div class="scroll" tabindex="0">{table(points, start)}</div>'
        f'<script type="application/json">{text}</script></div><script>{script}</script>'
    )


def points_of(result: Bootstrap, level: float) -> dict[str, Any]:
    """Operating points of one model at every step of the slider; None where a number does not exist."""
    intervals = result.intervals(level)
    columns: dict[str, Any] = {
        "threshold": numbers(result.points["threshold"]),
        "fp_per_image": numbers(result.points["fp_per_image"]),
    }
    for measure in SHOWN:
        part = intervals[intervals["measure"] == measure]
        columns[measure] = numbers(result.points[measure])
        columns[f"{measure}_lower"] = numbers(part["lower"])
        columns[f"{measure}_upper"] = numbers(part["upper"])
    return columns


def numbers(values: pd.Series[Any]) -> list[float | None]:
    """Plain numbers of six figures; None for what JSON cannot say."""
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]


def picture(
    matchings: Mapping[str, Matching], points: Mapping[str, dict[str, Any]], targets: np.ndarray, start: int
) -> str:
    """Curves, bands, axes and the line of the operating point, as SVG."""
    max_fp = float(targets[-1])
    parts = [axes(max_fp)]
    for number, name in enumerate(matchings):
        parts.append(band(points[name], targets, COLOURS[number % len(COLOURS)]))
    for number, (name, matching) in enumerate(matchings.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        line = steps(froc_curve(matching), max_fp)
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = BOTTOM - 18 * (len(matchings) - number)
        parts.append(
            f'<line x1="{RIGHT - 110}" x2="{RIGHT - 80}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/><text x="{RIGHT - 74}" y="{y}">{escape(name)}</text>'
        )
    x = across(float(targets[start]), max_fp)
    parts.append(
        f'<line class="cursor" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}" stroke="#555" '
        'stroke-dasharray="4 3"/>'
    )
    return (
        '<svg viewBox="0 0 700 400" role="img" aria-label="FROC curves of the test set" font-size="13" '
        'font-family="system-ui, sans-serif">' + "".join(parts) + "</svg>"
    )


def axes(max_fp: float) -> str:
    """Grid, ticks and labels."""
    parts = []
    for share in np.linspace(0, 1, 6):
        y = upward(float(share))
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{100 * share:.0f} %</text>')
    for fp in np.arange(0, max_fp + 1e-9, 0.5):
        x = across(float(fp), max_fp)
        parts.append(f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{fp:g}</text>')
    middle = (LEFT + RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{BOTTOM + 42}" text-anchor="middle">false positives per image</text>'
    )
    centre = (TOP + BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{centre}" text-anchor="middle" transform="rotate(-90 14 {centre})">'
        "golden objects found</text>"
    )
    return "".join(parts)


def band(part: dict[str, Any], targets: np.ndarray, colour: str) -> str:
    """Pointwise interval of GT sensitivity."""
    limits = [
        (across(float(fp), float(targets[-1])), upward(low), upward(high))
        for fp, low, high in zip(
            targets, part["gt_sensitivity_lower"], part["gt_sensitivity_upper"], strict=True
        )
        if low is not None and high is not None
    ]
    if not limits:
        return ""
    outline = [f"{x:.1f},{high:.1f}" for x, _, high in limits] + [
        f"{x:.1f},{low:.1f}" for x, low, _ in limits[::-1]
    ]
    return f'<polygon points="{" ".join(outline)}" fill="{colour}" opacity="0.1"/>'


def steps(curve: FrocCurve, max_fp: float) -> str:
    """Points of the staircase up to the end of the axis, the corners alone."""
    inside = curve.fp_per_image <= max_fp
    fp, found = curve.fp_per_image[inside], np.nan_to_num(curve.gt_sensitivity[inside])
    rises = np.flatnonzero(np.diff(found, prepend=0.0) != 0)
    corners = [(0.0, 0.0)]
    for index in rises:
        if fp[index] > corners[-1][0]:
            corners.append((float(fp[index]), corners[-1][1]))
        corners.append((float(fp[index]), float(found[index])))
    level = corners[-1][1]
    corners.append((max_fp if not inside.all() else corners[-1][0], level))
    return " ".join(f"{across(x, max_fp):.1f},{upward(y):.1f}" for x, y in corners)


def across(fp: float, max_fp: float) -> float:
    """Horizontal place of a number of false positives per image."""
    return round(LEFT + (RIGHT - LEFT) * fp / max_fp, 2)


def upward(share: float) -> float:
    """Vertical place of a sensitivity."""
    return round(BOTTOM - (BOTTOM - TOP) * share, 2)


def table(points: Mapping[str, dict[str, Any]], start: int) -> str:
    """Table of the operating point, one row a model, as it stands without the script."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td>"
        f"<td>{shown(part['threshold'][start], 4)}</td><td>{part['fp_per_image'][start]:.2f}</td>"
        + "".join(f"<td>{with_interval(part, measure, start)}</td>" for measure in SHOWN)
        + "</tr>"
        for name, part in points.items()
    )
    return (
        "<table><thead><tr><th>model</th><th>threshold</th><th>FP per image</th><th>GT sensitivity</th>"
        f"<th>image sensitivity</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def shown(value: float | None, figures: int) -> str:
    """Round a number, or say that there is none."""
    return "none" if value is None else f"{value:.{figures}g}"


def with_interval(part: dict[str, Any], measure: str, index: int) -> str:
    """Per cent with limits."""
    value, low, high = (part[f"{measure}{end}"][index] for end in ("", "_lower", "_upper"))
    if value is None:
        return "–"
    limits = "" if low is None or high is None else f" ({100 * low:.1f} % to {100 * high:.1f} %)"
    return f"{100 * value:.1f} %{limits}"
