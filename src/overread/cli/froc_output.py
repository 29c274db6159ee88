"""Tables and sentences for people: `overread froc` and `overread compare`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from overread.cli.conventions import fold_cells
from overread.screen import make_console
from overread.words import difference_with_limits, percent, percent_with_limits

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_comparison", "print_froc", "print_locked"]

TREATMENTS = {"ignore": "ignored", "fp": "counted as false positives"}


def print_froc(report: dict[str, Any]) -> None:
    """Sizes and rule, then for each model its points, the chance level and the whole-curve figures."""
    console = make_console()
    _print_summary(console, report)
    for model in report["models"]:
        _print_points(console, report, model)
    if "locked" in report:
        lock = report["locked"]
        console.print(
            f"Locked: threshold {lock['threshold']:.6g} ({lock['fp_per_image']:.3f} FP per image here) -> "
            f"{escape(lock['path'])}, checksum {lock['checksum'][:12]}",
            highlight=False,
        )


def _print_summary(console: Console, report: dict[str, Any]) -> None:
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
    console.print(f"Hit: {report['rule']}")
    if report["resampled"] == "images":
        console.print(
            "No patient ids: images are resampled. Several images of a patient make the intervals too short.",
            highlight=False,
        )


def _print_points(console: Console, report: dict[str, Any], model: dict[str, Any]) -> None:
    """Tables of one model: as counted, and under the other treatment of single-reader GTs where there are any."""
    chance, other = model["chance"], model["other_treatment"]
    by_chance = [point["chance_gt_sensitivity"] for point in chance["points"]] if chance else None
    table = _points_table(escape(model["name"]), model["points"], by_chance)
    table.caption, table.caption_justify = _caption(report, model), "left"
    console.print(fold_cells(table))
    for figure in model["figures_of_merit"]:
        limits = (
            "no interval"
            if math.isnan(figure["lower"])
            else f"{figure['lower']:.3f} to {figure['upper']:.3f}"
        )
        console.print(f"{figure['figure']} {figure['estimate']:.3f} ({limits})")
    if other:
        treatment = TREATMENTS[other["single_reader"]]
        title = f"The same, candidates on single-reader GTs {treatment}"
        console.print(_points_table(title, other["points"], None))


def _points_table(title: str, points: list[dict[str, Any]], by_chance: list[float] | None) -> Table:
    """One row per FP target."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, width in (("FP/image", 8), ("threshold", 9), ("GT", 11), ("image", 11), ("GT of reached", 7)):
        table.add_column(name, justify="right", min_width=width, overflow="fold")
    if by_chance:
        table.add_column("GT by chance", justify="right", min_width=6)
    for i, point in enumerate(points):
        cells = [
            f"{point['fp_target']:g} ({point['fp_per_image']['estimate']:.2f})",
            f"{point['threshold']:.4g}" if math.isfinite(point["threshold"]) else "none",
            _limits(point["gt_sensitivity"]),
            _limits(point["image_sensitivity"]),
            percent(point["gt_sensitivity_reached"]["estimate"]),
        ]
        table.add_row(*cells, *([percent(by_chance[i])] if by_chance else []))
    return fold_cells(table)


def _caption(report: dict[str, Any], model: dict[str, Any]) -> str:
    """Small print of a model's table."""
    parts = [
        f"sensitivities in per cent with {100 * report['level']:g} % intervals; "
        "FP/image: the target, and what the threshold gives"
    ]
    chance = model["chance"]
    if chance and not math.isnan(chance["reached"]):
        parts.append(
            f"any candidate hits {percent(chance['reached'])} of the GTs, "
            f"by chance {percent(chance['chance_reached'])}"
        )
    return "; ".join(parts)


def print_locked(report: dict[str, Any]) -> None:
    """Figures at a locked threshold."""
    console = make_console()
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
    table = Table(
        caption=f"per cent, {100 * report['level']:g} % intervals, threshold fixed",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
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
        _limits(point["gt_sensitivity"]),
        _limits(point["image_sensitivity"]),
    )
    console.print(fold_cells(table))


def print_comparison(report: dict[str, Any]) -> None:
    """Differences at the FP targets, of the whole curve, and what they say in words."""
    console = make_console()
    _print_summary(console, report)
    first, second = escape(report["first"]), escape(report["second"])
    table = Table(
        title=f"{second} minus {first}",
        title_justify="left",
        caption=f"sensitivity in per cent, {100 * report['level']:g} % intervals; p by permutation",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name, width in (("FP/image", 8), ("of", 6), (first, 6), (second, 6), ("difference", 25), ("p", 5)):
        table.add_column(name, justify="left" if name == "of" else "right", min_width=width)
    for row in report["points"]:
        table.add_row(
            f"{row['fp_target']:g}",
            {"gt_sensitivity": "GTs", "image_sensitivity": "images"}[row["measure"]],
            percent(row["first"]),
            percent(row["second"]),
            _difference(row, scale=100, digits=1),
            _p_text(row["p_permutation"]),
        )
    for row in report["figures_of_merit"]:
        cells = ["all", row["figure"], f"{row['first']:.3f}", f"{row['second']:.3f}"]
        table.add_row(*cells, _difference(row, scale=1, digits=3), _p_text(row["p_permutation"]))
    console.print(fold_cells(table))
    for sentence in report["verdict"]:
        console.print(escape(sentence))


def _limits(measure: dict[str, float]) -> str:
    return percent_with_limits(measure["estimate"], measure["lower"], measure["upper"])


def _difference(row: dict[str, float], *, scale: float, digits: int) -> str:
    return difference_with_limits(row["difference"], row["lower"], row["upper"], scale=scale, digits=digits)


def _p_text(value: float) -> str:
    """P-value with three digits."""
    return "-" if math.isnan(value) else f"{value:.3f}"
