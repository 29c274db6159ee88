"""Tables and sentences for people: `overread froc` and `overread compare`."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["print_comparison", "print_froc", "print_locked"]


def print_froc(report: dict[str, Any]) -> None:
    """Sizes and rule, then for each model its points, the chance level and the whole-curve figures."""
    console = Console()
    print_summary(console, report)
    for model in report["models"]:
        print_points(console, report, model)
    if "locked" in report:
        lock = report["locked"]
        console.print(
            f"Locked: threshold {lock['threshold']:.6g} ({lock['fp_per_image']:.3f} FP per image here) -> "
            f"{escape(lock['path'])}, checksum {lock['checksum'][:12]}",
            highlight=False,
        )


def print_summary(console: Console, report: dict[str, Any]) -> None:
    """Sizes, rule and resampling that the numbers rest on."""
    single = report["n_single_reader_gts"]
    extra = (
        f"; {single} single-reader GTs, candidates on them: {report['counting']['single_reader']}"
        if single
        else ""
    )
    console.print(
        f"{report['n_images']} images (from {escape(report['images_from'])}), "
        f"{report['n_gts']} GTs to find in {report['n_positive_images']} of them{extra}",
        highlight=False,
    )
    console.print(f"Hit: {report['rule']}", highlight=False)
    if report["resampled"] == "images":
        console.print(
            "No patient ids: images are resampled. Several images of a patient make the intervals too short.",
            highlight=False,
        )


def print_points(console: Console, report: dict[str, Any], model: dict[str, Any]) -> None:
    """Table of one model."""
    chance, ignored = model["chance"], model["single_reader_ignored"]
    table = Table(title=escape(model["name"]), title_justify="left", caption=caption(report, model))
    table.caption_justify = "left"
    for name in ("FP/image", "threshold", "GT sensitivity", "image sensitivity", "GT, of reached"):
        table.add_column(name, justify="right")
    if ignored:
        table.add_column("GT, 1-reader GTs ignored", justify="right")
    if chance:
        table.add_column("GT by chance", justify="right")
    for i, point in enumerate(model["points"]):
        cells = [
            f"{point['fp_target']:g}",
            f"{point['threshold']:.4g}" if math.isfinite(point["threshold"]) else "none",
            with_limits(point["gt_sensitivity"]),
            with_limits(point["image_sensitivity"]),
            percent(point["gt_sensitivity_reached"]["estimate"]),
        ]
        if ignored:
            cells.append(with_limits(ignored[i]["gt_sensitivity"]))
        if chance:
            cells.append(percent(chance["points"][i]["chance_gt_sensitivity"]))
        table.add_row(*cells)
    console.print(table)
    for figure in model["figures_of_merit"]:
        console.print(
            f"{figure['figure']} {figure['estimate']:.3f} ({figure['lower']:.3f} to {figure['upper']:.3f})",
            highlight=False,
        )


def caption(report: dict[str, Any], model: dict[str, Any]) -> str:
    """Small print of a model's table."""
    parts = [f"per cent, {100 * report['level']:g} % intervals"]
    chance = model["chance"]
    if chance and not math.isnan(chance["reached"]):
        parts.append(
            f"any candidate hits {percent(chance['reached'])} of the GTs, "
            f"by chance {percent(chance['chance_reached'])}"
        )
    return "; ".join(parts)


def print_locked(report: dict[str, Any]) -> None:
    """Figures at a locked threshold."""
    console = Console()
    console.print(
        f"{escape(report['model'])} on {report['n_images']} images with {report['n_gts']} GTs, at the threshold "
        f"that {escape(report['lock'])} locked at {report['locked_at']} "
        f"(checksum {report['lock_checksum'][:12]})",
        highlight=False,
    )
    if report["model"] != report["locked_model"]:
        console.print(
            f"The lock is for the scores {escape(repr(report['locked_model']))}: is this the same model?",
            highlight=False,
        )
    table = Table(caption="per cent, 95 % intervals, threshold fixed", caption_justify="left")
    for name in (
        "threshold",
        "FP/image when locked",
        "induced FP/image",
        "GT sensitivity",
        "image sensitivity",
    ):
        table.add_column(name, justify="right")
    point = report["point"]
    fp = point["fp_per_image"]
    table.add_row(
        f"{point['threshold']:.6g}",
        f"{report['locked_fp_per_image']:.3f}",
        f"{fp['estimate']:.3f} ({fp['lower']:.3f}-{fp['upper']:.3f})",
        with_limits(point["gt_sensitivity"]),
        with_limits(point["image_sensitivity"]),
    )
    console.print(table)


def print_comparison(report: dict[str, Any]) -> None:
    """Differences at the FP targets, of the whole curve, and what they say in words."""
    console = Console()
    print_summary(console, report)
    first, second = escape(report["first"]), escape(report["second"])
    table = Table(
        title=f"{second} minus {first}",
        title_justify="left",
        caption=f"points of sensitivity, {100 * report['level']:g} % intervals; p by permutation",
        caption_justify="left",
    )
    for name in ("FP/image", "measure", first, second, "difference", "p"):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for row in report["points"]:
        table.add_row(
            f"{row['fp_target']:g}",
            row["measure"].replace("_", " ").replace("gt", "GT"),
            percent(row["first"]),
            percent(row["second"]),
            signed_limits(row, 100, 1),
            p_text(row["p_permutation"]),
        )
    for row in report["figures_of_merit"]:
        cells = ["all", row["figure"], f"{row['first']:.3f}", f"{row['second']:.3f}"]
        table.add_row(*cells, signed_limits(row, 1, 3), p_text(row["p_permutation"]))
    console.print(table)
    for sentence in report["verdict"]:
        console.print(escape(sentence), highlight=False)


def with_limits(measure: dict[str, float]) -> str:
    """Per cent with its interval."""
    if math.isnan(measure["estimate"]):
        return "-"
    return f"{percent(measure['estimate'])} ({percent(measure['lower'])}-{percent(measure['upper'])})"


def signed_limits(row: dict[str, float], scale: float, digits: int) -> str:
    """Difference with its sign and interval."""
    if math.isnan(row["difference"]):
        return "-"
    values = [f"{scale * row[key]:+.{digits}f}" for key in ("difference", "lower", "upper")]
    return f"{values[0]} ({values[1]} to {values[2]})"


def percent(value: float) -> str:
    """Fraction as per cent with one digit."""
    return "-" if math.isnan(value) else f"{100 * value:.1f}"


def p_text(value: float) -> str:
    """P-value with three digits."""
    return "-" if math.isnan(value) else f"{value:.3f}"
