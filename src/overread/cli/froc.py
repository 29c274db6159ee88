"""`overread froc`: measure a detector from its scores and the ground truth.

It also prints the tables and sentences of `overread froc` and `overread compare`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import Flag, Resampling, emit, make_table
from overread._terminal import make_console
from overread._text import difference_with_limits, percent, percent_with_limits
from overread.cli._froc_inputs import CountingOptions, ReadingOptions
from overread.errors import UsageError
from overread.froc import CHANCE_SHIFTS, FP_TARGETS, OPERATING_FP

if TYPE_CHECKING:
    from rich.table import Table

    from overread.cli._froc_inputs import FrocEvaluation
    from overread.froc import Matching


def froc(
    scores: Path,
    truth: Path,
    *,
    fp: Annotated[tuple[float, ...] | None, Parameter(negative=())] = None,
    n_shifts: int = CHANCE_SHIFTS,
    lock: Path | None = None,
    lock_at: float = OPERATING_FP,
    locked: Path | None = None,
    figure: Path | None = None,
    json: Flag = False,
    resampling: Resampling | None = None,
    reading: Annotated[ReadingOptions | None, Parameter(name="*", group="Reading")] = None,
    counting: Annotated[CountingOptions | None, Parameter(name="*", group="Counting")] = None,
) -> None:
    """Sensitivity against false positives per image, with intervals and the chance level of the rule.

    Parameters
    ----------
    scores
        Detections: CSV or Parquet with image_id, positions and scores; or JSON of COCO, MONAI or nnDetection.
    truth
        Ground truth: CSV or Parquet with image_id and ellipses, circles or boxes; or COCO ground truth.
    fp
        False positives per image at which to report sensitivity; repeat for more. By default 0.5 to 3 in
        steps of 0.5.
    n_shifts
        Number of times that images swap their candidates for the chance level; 0: no chance level.
    lock
        Lock the threshold for --lock-at on these data and write it to this file, before you score the test
        set.
    lock_at
        False positives per image for which to lock the threshold.
    locked
        Use the threshold in this file, which --lock wrote for other data.
    figure
        Draw the curves (PNG, SVG or PDF).
    json
        Print JSON instead of tables.
    resampling
        How intervals are made.
    reading
        How the files are read.
    counting
        What a hit is and how hits are counted.
    """
    from overread._plots import figure_kind
    from overread.cli._froc_inputs import load_evaluation, make_counting

    draws = resampling or Resampling()
    draws.check()
    if figure is not None:
        figure_kind(figure)
    if n_shifts < 0:
        raise UsageError(f"--n-shifts {n_shifts}: give 0 or more")
    if locked is not None and fp is not None:
        raise UsageError("--fp has no effect with --locked, whose threshold is fixed. Remove it.")
    targets = fp or FP_TARGETS
    evaluation = load_evaluation((scores,), truth, reading or ReadingOptions(), make_counting(counting))
    matchings = evaluation.matchings()
    if (lock or locked) and len(matchings) > 1:
        raise UsageError(
            f"--lock and --locked need one model. Choose it with --score: {', '.join(matchings)}"
        )
    if locked is not None:
        report = _report_locked(matchings, locked, draws)
    else:
        report = _report_models(evaluation, matchings, targets, draws, n_shifts)
    if lock is not None:
        report["locked"] = _lock_threshold(matchings, lock, lock_at)
    if figure is not None:
        draw_curves(matchings, figure, targets, draws)
    emit(report, print_locked if locked is not None else print_froc, as_json=json)


def _report_models(
    evaluation: FrocEvaluation,
    matchings: dict[str, Matching],
    fp: tuple[float, ...],
    draws: Resampling,
    n_shifts: int,
) -> dict[str, Any]:
    """Return all results of each model as plain records."""
    from overread._terminal import ProgressBar, begin_work

    models = []
    for name, matching in matchings.items():
        with ProgressBar(), begin_work(name, None):
            models.append(
                {
                    "name": name,
                    "n_reached": int(matching.gt_reached.sum()),
                    "points": _point_records(matching, fp, draws),
                    "other_treatment": _other_records(matching, fp, draws),
                    "chance": _chance_records(evaluation, name, fp, draws.seed, n_shifts),
                    "figures_of_merit": _figure_records(matching, draws),
                }
            )
    first = next(iter(matchings.values()))
    return summarize(evaluation, first) | {"level": draws.level, "models": models}


def summarize(evaluation: FrocEvaluation, matching: Matching) -> dict[str, Any]:
    """Sizes, hit rule and counting, on which all results below depend."""
    import numpy as np

    return {
        "n_images": matching.n_images,
        "images_from": evaluation.images_from,
        "n_patients": matching.n_patients,
        "resampled": "patients" if "patient_id" in evaluation.images.columns else "images",
        "n_gts": matching.n_gts,
        "n_positive_images": len(np.unique(matching.gt_images)),
        "n_single_reader_gts": len(evaluation.truth) - matching.n_gts,
        "rule": "" if evaluation.counting.rule is None else evaluation.counting.rule.describe(),
        "counting": evaluation.counting.option_record(),
    }


def _point_records(matching: Matching, fp: tuple[float, ...], draws: Resampling) -> list[dict[str, Any]]:
    """One record per FP target, each measure with its interval."""
    from overread.froc import bootstrap

    drawn = bootstrap(matching, fp_targets=fp, n_bootstrap=draws.n_bootstrap, seed=draws.seed)
    return _records_of(drawn.intervals(draws.level))


def _records_of(intervals: Any) -> list[dict[str, Any]]:
    """Turn a table with one row per point and measure into one record per point."""
    records: dict[Any, dict[str, Any]] = {}
    for row in intervals.itertuples():
        record = records.setdefault(
            row.fp_target if row.fp_target == row.fp_target else row.threshold,
            {"fp_target": row.fp_target, "threshold": row.threshold},
        )
        record[row.measure] = {"estimate": row.estimate, "lower": row.lower, "upper": row.upper}
    return list(records.values())


OTHER_TREATMENT = {"ignore": "fp", "fp": "ignore"}


def _other_records(matching: Matching, fp: tuple[float, ...], draws: Resampling) -> dict[str, Any] | None:
    """Points with the other treatment of candidates on single-reader objects, if there are any."""
    other = OTHER_TREATMENT.get(matching.counting.single_reader)
    if matching.require_geometry().truth_golden.all() or other is None:
        return None
    points = _point_records(matching.with_counting(single_reader=other), fp, draws)
    return {"single_reader": other, "points": points}


def _chance_records(
    evaluation: FrocEvaluation, model: str, fp: tuple[float, ...], seed: int, n_shifts: int
) -> dict[str, Any] | None:
    """Chance level: the sensitivity of the same candidates on other images; None with only one image."""
    from overread.froc import chance_level

    if len(evaluation.images) < 2 or n_shifts == 0:
        return None
    chance = chance_level(
        evaluation.models[model],
        evaluation.truth,
        evaluation.images,
        fp_targets=fp,
        n_shifts=n_shifts,
        seed=seed,
        counting=evaluation.counting,
    )
    return {
        "reached": chance.reached,
        "chance_reached": chance.chance_reached,
        "n_shifts": chance.n_shifts,
        "points": chance.points.to_dict(orient="records"),
    }


def _figure_records(matching: Matching, draws: Resampling) -> list[dict[str, Any]]:
    """AFROC and wAFROC; over all cases if every image has a target; empty without targets."""
    from dataclasses import asdict

    from overread.froc import estimate_figures, whole_curve_figures

    if not matching.n_gts:
        return []
    return [
        asdict(figure) for figure in estimate_figures(matching, whole_curve_figures(matching), **vars(draws))
    ]


def _lock_threshold(matchings: dict[str, Matching], path: Path, fp_target: float) -> dict[str, Any]:
    """Write a locked operating point of the one model."""
    from overread.froc import lock_operating_point

    ((name, matching),) = matchings.items()
    point = lock_operating_point(matching, fp_target=fp_target, model=name)
    return {
        "path": str(path),
        "checksum": point.write(path),
        "model": name,
        "threshold": point.threshold,
        "fp_target": fp_target,
        "fp_per_image": point.fp_per_image,
    }


def _report_locked(matchings: dict[str, Matching], path: Path, draws: Resampling) -> dict[str, Any]:
    """Test results at a locked threshold, with its file."""
    from overread.froc import LockedOperatingPoint

    ((name, matching),) = matchings.items()
    point = LockedOperatingPoint.read(path)
    result = point.evaluate(matching, **vars(draws))
    (record,) = _records_of(result.intervals)
    return {
        "model": name,
        "locked_model": point.model,
        "lock": str(path),
        "lock_checksum": result.lock_checksum,
        "locked_at": result.locked_at,
        "locked_fp_target": point.fp_target,
        "locked_fp_per_image": point.fp_per_image,
        "n_images": matching.n_images,
        "n_gts": matching.n_gts,
        "level": draws.level,
        "point": record,
    }


def draw_curves(matchings: dict[str, Matching], path: Path, fp: tuple[float, ...], draws: Resampling) -> None:
    """Draw the FROC curves of all models."""
    from overread._plots import save_figure
    from overread.froc import plot_froc

    models = {name: (matching, None) for name, matching in matchings.items()}
    save_figure(plot_froc(models, fp_targets=fp, **vars(draws)), path)


TREATMENTS = {"ignore": "ignored", "fp": "counted as false positives"}
COMPARED = {"gt_sensitivity": "GTs", "image_sensitivity": "images"}
PLAIN: dict[str, Any] = {"title_justify": "left", "caption_justify": "left", "padding": (0, 1, 0, 0)}


def print_froc(report: dict[str, Any]) -> None:
    """Print sizes and hit rule, then for each model its points, chance level and figures of merit."""
    _print_summary(report)
    for model in report["models"]:
        _print_points(report, model)
    if "locked" in report:
        lock = report["locked"]
        _print(
            f"Locked: threshold {lock['threshold']:.6g} ({lock['fp_per_image']:.3f} FP per image here) -> "
            f"{lock['path']}, checksum {lock['checksum'][:12]}"
        )


def _print(text: str) -> None:
    """Print a sentence, wrapped to the width of the terminal."""
    make_console(markup=False).print(text)


def _print_summary(report: dict[str, Any]) -> None:
    """Print the sizes, hit rule and resampling behind the numbers."""
    single, extra = report["n_single_reader_gts"], ""
    if single:
        extra = f"; {single} single-reader objects, candidates on them: {report['counting']['single_reader']}"
    _print(
        f"{report['n_images']} images (from {report['images_from']}), "
        f"{report['n_gts']} objects to find in {report['n_positive_images']} of them{extra}"
    )
    _print(f"Hit: {report['rule']}")
    if report["resampled"] == "images":
        _print(
            "No patient ids: images are resampled. If a patient has several images, the intervals are too short."
        )


def _print_points(report: dict[str, Any], model: dict[str, Any]) -> None:
    """Print the tables of one model: as counted, and with the other treatment of single-reader objects."""
    chance, other = model["chance"], model["other_treatment"]
    by_chance = [point["chance_gt_sensitivity"] for point in chance["points"]] if chance else None
    console = make_console()
    console.print(_points_table(model["name"], model["points"], by_chance, caption=_caption(report, model)))
    for figure in model["figures_of_merit"]:
        limits = f"{figure['lower']:.3f} to {figure['upper']:.3f}"
        known = limits if not math.isnan(figure["lower"]) else "no interval"
        _print(f"{figure['figure']} {figure['estimate']:.3f} ({known})")
    if other:
        title = f"The same, candidates on single-reader objects {TREATMENTS[other['single_reader']]}"
        console.print(_points_table(title, other["points"], None))


def _points_table(
    title: str, points: list[dict[str, Any]], by_chance: list[float] | None, **options: Any
) -> Table:
    """One row per FP target."""
    columns = [("FP/image", 8), ("threshold", 9), ("GT", 11), ("image", 11), ("GT of reached", 7)]
    rows = [
        [
            f"{point['fp_target']:g} ({point['fp_per_image']['estimate']:.2f})",
            f"{point['threshold']:.4g}" if math.isfinite(point["threshold"]) else "none",
            percent_with_limits(**point["gt_sensitivity"]),
            percent_with_limits(**point["image_sensitivity"]),
            percent(point["gt_sensitivity_reached"]["estimate"]),
        ]
        for point in points
    ]
    if by_chance:
        columns.append(("GT by chance", 6))
        rows = [[*row, percent(chance)] for row, chance in zip(rows, by_chance, strict=True)]
    return _sized_table(columns, rows, title=title, **options)


def _sized_table(
    columns: list[tuple[str, int]], rows: list[list[str]], *, title: str, **options: Any
) -> Table:
    """Table of numbers with at least these column widths."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape

    names = [name for name, _ in columns]
    table = make_table(
        names, rows, right=slice(None), title=escape(title), box=SIMPLE_HEAD, **PLAIN, **options
    )
    for column, (_, width) in zip(table.columns, columns, strict=True):
        column.min_width = width
    return table


def _caption(report: dict[str, Any], model: dict[str, Any]) -> str:
    """Caption of a model's table."""
    parts = [
        f"sensitivities in per cent with {100 * report['level']:g} % intervals; "
        "FP/image: the target, and (in brackets) the value at the threshold"
    ]
    chance = model["chance"]
    if chance and not math.isnan(chance["reached"]):
        parts.append(
            f"all candidates together hit {percent(chance['reached'])} of the objects, "
            f"by chance {percent(chance['chance_reached'])}"
        )
    return "; ".join(parts)


def print_locked(report: dict[str, Any]) -> None:
    """Print the results at a locked threshold."""
    from rich.box import SIMPLE_HEAD

    _print(
        f"{report['model']} on {report['n_images']} images with {report['n_gts']} objects, at the threshold "
        f"of {report['lock']}, locked at {report['locked_at']} (checksum {report['lock_checksum'][:12]})"
    )
    if report["model"] != report["locked_model"]:
        _print(
            f"The threshold was locked for the scores {report['locked_model']!r}. Check that this is the same model."
        )
    point = report["point"]
    fp = point["fp_per_image"]
    cells = {
        "threshold": f"{point['threshold']:.6g}",
        "FP/image when locked": f"{report['locked_fp_per_image']:.3f}",
        "induced FP/image": f"{fp['estimate']:.3f} ({fp['lower']:.3f}-{fp['upper']:.3f})",
        "GT sensitivity": percent_with_limits(**point["gt_sensitivity"]),
        "image sensitivity": percent_with_limits(**point["image_sensitivity"]),
    }
    caption = f"per cent, {100 * report['level']:g} % intervals, threshold fixed"
    make_console().print(
        make_table(cells, [cells.values()], right=slice(None), caption=caption, box=SIMPLE_HEAD, **PLAIN)
    )


def print_comparison(report: dict[str, Any]) -> None:
    """Print the differences at the FP targets and of the whole curve, with a verdict."""
    _print_summary(report)
    first, second = report["first"], report["second"]
    rows = []
    for row in (*report["points"], *report["figures_of_merit"]):
        if "figure" in row:
            cells = ["all", row["figure"], *(f"{row[model]:.3f}" for model in ("first", "second"))]
            scale, digits = 1.0, 3
        else:
            cells = [
                f"{row['fp_target']:g}",
                COMPARED[row["measure"]],
                percent(row["first"]),
                percent(row["second"]),
            ]
            scale, digits = 100.0, 1
        limits = row["difference"], row["lower"], row["upper"]
        p = row["p_permutation"]
        rows.append(
            [
                *cells,
                difference_with_limits(*limits, scale=scale, digits=digits),
                "-" if math.isnan(p) else f"{p:.3f}",
            ]
        )
    columns = [("FP/image", 8), ("of", 6), (first, 6), (second, 6), ("difference", 25), ("p", 5)]
    caption = f"sensitivity in per cent, {100 * report['level']:g} % intervals; p by permutation"
    table = _sized_table(columns, rows, title=f"{second} minus {first}", caption=caption)
    table.columns[1].justify = "left"
    make_console().print(table)
    for sentence in report["verdict"]:
        _print(sentence)
