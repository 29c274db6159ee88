"""Sentences and tables for people: `overread plan`."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from overread.cli.conventions import fold_cells, print_plain
from overread.screen import make_console
from overread.words import percent

__all__ = ["print_plan"]

# With so few the size that a pilot asks for has a standard deviation of 30 % (docs/how-to/plan.md).
FEW_PATIENTS = 20

THINGS = {"gt_sensitivity": "golden objects", "image_sensitivity": "images with a golden object"}
SPOKEN_OF = {
    "readers and cases": "other readers and other cases",
    "readers": "other readers on the same cases",
    "cases": "these readers on other cases",
}


def print_plan(report: dict[str, Any]) -> None:
    """Print a plan of any kind."""
    PRINTERS[report["plan"]](report)


def _print_sensitivity(report: dict[str, Any]) -> None:
    pilot, things = report["pilot"], THINGS[report["measure"]]
    point = (
        f"at {report['fp_target']:g} FP per image"
        if report["threshold"] is None
        else f"at the threshold {report['threshold']:.4g} locked for {report['fp_target']:g} FP per image"
    )
    print_plain(
        f"{report['model']} finds {percent(pilot['estimate'])} % of the {things} {point}, "
        f"{100 * report['level']:g} % interval {percent(pilot['lower'])} to {percent(pilot['upper'])} %: "
        f"half-width {_points(pilot['half_width'])}."
    )
    print_plain(
        f"That rests on {_size(pilot['size'], report)}, unseen by the models; the {things} are worth "
        f"{pilot['worth']:.0f} independent ones (design effect {pilot['design_effect']:.2f})."
    )
    _warn_of_few(pilot)
    plans = report["plans"]
    if len(plans) == 1:
        print_plain(
            f"A half-width of {_points(plans[0]['half_width'])} takes {_size(plans[0]['size'], report)}."
        )
    else:
        _print_sizes("half-width", [(_points(one["half_width"]), one["size"]) for one in plans], report)
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{_size(planned['size'], report)} give a half-width of {_points(planned['half_width'])}."
        )
    # Of the table, the row of 5 points says enough about how much the expected sensitivity matters.
    shown = plans[0] if len(plans) == 1 else plans[2]
    print_plain(
        f"If the sensitivity is really {percent(report['cautious_sensitivity'])} %, the worst that its interval "
        f"allows, a half-width of {_points(shown['half_width'])} takes {_size(shown['cautious_size'], report)}."
    )
    _print_assumptions()


def _print_difference(report: dict[str, Any]) -> None:
    pilot = report["pilot"]
    first, second = report["first"], report["second"]
    print_plain(
        f"Of the {THINGS[report['measure']]}, {first} finds {percent(pilot['first'])} % and {second} "
        f"{percent(pilot['second'])} % at {report['fp_target']:g} FP per image: a difference of "
        f"{100 * pilot['difference']:+.1f} points, half-width {_points(pilot['half_width'])}."
    )
    print_plain(f"That rests on {_size(pilot['size'], report)}, unseen by the models.")
    _warn_of_few(pilot)
    widths, powers = report["widths"], report["powers"]
    if len(widths) > 1:
        _print_sizes("half-width", [(_points(one["half_width"]), one["size"]) for one in widths], report)
    for one in widths if len(widths) == 1 else ():
        print_plain(f"A half-width of {_points(one['half_width'])} takes {_size(one['size'], report)}.")
    if len(powers) > 1:
        title = f"difference, power {report['power']:g}"
        _print_sizes(title, [(_points(one["difference"]), one["size"]) for one in powers], report)
    for one in powers if len(powers) == 1 else ():
        print_plain(
            f"To find a difference of {_points(one['difference'])} with a power of {report['power']:g} takes "
            f"{_size(one['size'], report)}."
        )
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{_size(planned['size'], report)} give a half-width of {_points(planned['half_width'])}"
            + _power_words(planned["powers"])
        )
    _print_assumptions()


def _print_assumed(report: dict[str, Any]) -> None:
    print_plain(
        f"Expected: a sensitivity of {percent(report['sensitivity'])} % and a design effect of "
        f"{report['design_effect']:g}."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {_points(one['half_width'])} takes {_objects(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To find a difference of {_points(one['difference'])} between two models with a power of "
            f"{report['power']:g} takes {_objects(one)}."
        )
    print_plain(
        "These are sizes of the test set alone. A run measures what is assumed here: overread plan RUN"
    )


def _print_readers(report: dict[str, Any]) -> None:
    pilot = report["pilot"]
    of = f", {report['figure']}" if report["figure"] else ""
    print_plain(
        f"{report['readers']} readers, from a pilot of {pilot['n_cases']} cases{of}; to speak of "
        f"{SPOKEN_OF[report['random']]}. Widths and differences are in units of the figure of merit."
    )
    for one in report["widths"]:
        print_plain(f"A half-width of {one['half_width']:g} takes {_cases(one)}.")
    for one in report["powers"]:
        print_plain(
            f"To find a difference of {one['difference']:g} with a power of {report['power']:g} takes {_cases(one)}."
        )
    if "planned" in report:
        planned = report["planned"]
        print_plain(
            f"{planned['cases']} cases give a half-width of {planned['half_width']:.3g}"
            + _power_words(planned["powers"], scale=1, unit="")
        )
    print_plain(
        "Assumed: cases with and without lesions in the pilot's proportion, readers and modalities like its own."
    )


PRINTERS = {
    "sensitivity": _print_sensitivity,
    "difference": _print_difference,
    "assumed": _print_assumed,
    "readers": _print_readers,
}


def _print_sizes(title: str, rows: list[tuple[str, dict[str, int]]], report: dict[str, Any]) -> None:
    """Table of sizes, one row for each width or difference."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    columns = ["golden objects", "images"] + (["patients"] if report["has_patients"] else [])
    for name in (title, *columns):
        table.add_column(name, justify="right")
    for points, size in rows:
        cells = [size["gts"], size["images"]] + ([size["patients"]] if report["has_patients"] else [])
        table.add_row(points, *(f"{n:,}" for n in cells))
    make_console().print(fold_cells(table))


def _warn_of_few(pilot: dict[str, Any]) -> None:
    if pilot["patients_with_gts"] < FEW_PATIENTS:
        print_plain(
            f"Only {pilot['patients_with_gts']} patients have a golden object: take the sizes as a first guess."
        )


def _print_assumptions() -> None:
    print_plain(
        "Assumed: patients, images and golden objects in the same mix, the same model. These are sizes of the "
        "test set alone; what the model learns from comes on top."
    )


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


def _size(size: dict[str, int], report: dict[str, Any]) -> str:
    patients = f" of {size['patients']:,} patients" if report["has_patients"] else ""
    return f"{size['gts']:,} golden objects in {size['images']:,} images{patients}"


def _objects(size: dict[str, Any]) -> str:
    images = "" if size["images"] is None else f" in {size['images']:,} images"
    return f"{size['gts']:,} golden objects{images}"


def _cases(plan: dict[str, Any]) -> str:
    return "more readers, whatever the cases" if plan["cases"] is None else f"{plan['cases']:,} cases"


def _power_words(powers: list[dict[str, float]], *, scale: float = 100, unit: str = " points") -> str:
    if not powers:
        return "."
    said = ", ".join(f"{one['power']:.2f} for {scale * one['difference']:.3g}{unit}" for one in powers)
    return f", and these powers: {said}."
