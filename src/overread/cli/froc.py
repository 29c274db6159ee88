"""`overread froc`: how good is a detector, from its scores and the ground truth alone.

Tables and sentences for people: `overread froc` and `overread compare`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from overread._commands import fold_cells
from overread._terminal import make_console, print_json
from overread._text import difference_with_limits, percent, percent_with_limits
from overread.cli._froc_inputs import CountingOptions, ReadingOptions
from overread.errors import UsageError
from overread.froc import CHANCE_SHIFTS, FP_TARGETS, LEVEL, N_BOOTSTRAP

if TYPE_CHECKING:
    from rich.console import Console

    from overread.cli._froc_inputs import Evaluation, ScoredModel
    from overread.froc import Matching


def froc(
    scores: Path,
    truth: Path,
    *,
    fp: Annotated[tuple[float, ...] | None, Parameter(negative=())] = None,
    n_bootstrap: int = N_BOOTSTRAP,
    level: float = LEVEL,
    seed: int = 0,
    n_shifts: int = CHANCE_SHIFTS,
    lock: Path | None = None,
    lock_at: float = 0.5,
    locked: Path | None = None,
    figure: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    reading: Annotated[ReadingOptions | None, Parameter(name="*", group="Reading")] = None,
    counting: Annotated[CountingOptions | None, Parameter(name="*", group="Counting")] = None,
) -> None:
    """Sensitivity against false positives per image, with intervals and the chance level of the rule.

    Parameters
    ----------
    scores
        Detections: CSV or Parquet with image_id, positions and scores, or the JSON of COCO, MONAI or
        nnDetection.
    truth
        Ground truth: CSV or Parquet with image_id and ellipses, circles or boxes, or COCO ground truth.
    fp
        False positives per image at which sensitivity is told; repeat for more. Default: 0.5 to 3 by 0.5.
    n_bootstrap
        Resamplings of patients for the intervals.
    level
        Level of the intervals.
    seed
        Same seed, same intervals.
    n_shifts
        Ways to give every image the candidates of another one, for the chance level; 0: leave it out.
    lock
        Fix the threshold at --lock-at on these data and write it here, before the test set is scored.
    lock_at
        False positives per image of the locked threshold.
    locked
        Score these data at the threshold that another set locked.
    figure
        Draw the curves (PNG, SVG or PDF).
    json
        Print JSON instead of tables.
    reading
        How the files are read.
    counting
        What a hit is and how hits are counted.
    """
    from overread._commands import check_seed
    from overread.cli._froc_inputs import check_before_work, load_evaluation, make_counting
    from overread.froc import check_draws

    check_seed(seed)
    check_draws(n_bootstrap, level)
    check_before_work(figure, n_shifts=n_shifts)
    if locked is not None and fp is not None:
        raise UsageError("--fp has no effect with --locked, whose threshold is fixed: leave it out")
    targets = fp or FP_TARGETS
    evaluation = load_evaluation((scores,), truth, reading or ReadingOptions(), make_counting(counting))
    matchings = {model.name: evaluation.matching(model) for model in evaluation.models}
    if (lock or locked) and len(matchings) > 1:
        raise UsageError(f"--lock and --locked need one model; choose it by --score: {', '.join(matchings)}")
    if locked is not None:
        report = _report_locked(matchings, locked, n_bootstrap, level, seed)
    else:
        report = _report_models(evaluation, matchings, targets, n_bootstrap, level, seed, n_shifts)
    if lock is not None:
        report["locked"] = _lock_threshold(matchings, lock, lock_at)
    if figure is not None:
        draw_curves(matchings, figure, targets, n_bootstrap, level, seed)
    _show(report, as_json=json)


def _report_models(
    evaluation: Evaluation,
    matchings: dict[str, Matching],
    fp: tuple[float, ...],
    n_bootstrap: int,
    level: float,
    seed: int,
    n_shifts: int,
) -> dict[str, Any]:
    """Everything that is known of each model, as plain records."""
    from overread._terminal import ProgressBar, begin_work

    first = next(iter(matchings.values()))
    report: dict[str, Any] = summarize(evaluation, first) | {"level": level, "models": []}
    for model in evaluation.models:
        matching = matchings[model.name]
        with ProgressBar(), begin_work(model.name, None):
            report["models"].append(
                {"name": model.name, "n_reached": int(matching.gt_reached.sum())}
                | {"points": _point_records(matching, fp, n_bootstrap, level, seed)}
                | {"other_treatment": _other_records(matching, fp, n_bootstrap, level, seed)}
                | {"chance": _chance_records(evaluation, model, fp, seed, n_shifts)}
                | {"figures_of_merit": _figure_records(matching, n_bootstrap, level, seed)}
            )
    return report


def summarize(evaluation: Evaluation, matching: Matching) -> dict[str, Any]:
    """Sizes, rule and counting: what every figure below rests on."""
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


def _point_records(
    matching: Matching, fp: tuple[float, ...], n_bootstrap: int, level: float, seed: int
) -> list[dict[str, Any]]:
    """One record per FP target, each measure with its interval."""
    from overread.froc import bootstrap

    return _records_of(
        bootstrap(matching, fp_targets=fp, n_bootstrap=n_bootstrap, seed=seed).intervals(level)
    )


def _records_of(intervals: Any) -> list[dict[str, Any]]:
    """Gather a frame with a row per point and measure into one record per point."""
    records: dict[Any, dict[str, Any]] = {}
    for row in intervals.itertuples():
        record = records.setdefault(
            row.fp_target if row.fp_target == row.fp_target else row.threshold,
            {"fp_target": row.fp_target, "threshold": row.threshold},
        )
        record[row.measure] = {"estimate": row.estimate, "lower": row.lower, "upper": row.upper}
    return list(records.values())


OTHER_TREATMENT = {"ignore": "fp", "fp": "ignore"}


def _other_records(
    matching: Matching, fp: tuple[float, ...], n_bootstrap: int, level: float, seed: int
) -> dict[str, Any] | None:
    """Points under the other treatment of candidates on single-reader GTs, where there are any."""
    other = OTHER_TREATMENT.get(matching.counting.single_reader)
    if matching.require_geometry().truth_golden.all() or other is None:
        return None
    points = _point_records(matching.with_counting(single_reader=other), fp, n_bootstrap, level, seed)
    return {"single_reader": other, "points": points}


def _chance_records(
    evaluation: Evaluation, model: ScoredModel, fp: tuple[float, ...], seed: int, n_shifts: int
) -> dict[str, Any] | None:
    """Chance level: what the same candidates find on other images; None with only one image."""
    from overread.froc import chance_level

    if len(evaluation.images) < 2 or n_shifts == 0:
        return None
    chance = chance_level(
        model.candidates,
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


def _figure_records(matching: Matching, n_bootstrap: int, level: float, seed: int) -> list[dict[str, Any]]:
    """AFROC and wAFROC; over all cases where every image has a target; nothing without targets."""
    from dataclasses import asdict

    from overread.froc import estimate_figures, whole_curve_figures

    figures = whole_curve_figures(matching)
    if not matching.n_gts:
        return []
    found = estimate_figures(matching, figures, n_bootstrap=n_bootstrap, level=level, seed=seed)
    return [asdict(figure) for figure in found]


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


def _report_locked(
    matchings: dict[str, Matching], path: Path, n_bootstrap: int, level: float, seed: int
) -> dict[str, Any]:
    """Test figures at a locked threshold, citing its file."""
    from overread.froc import LockedOperatingPoint

    ((name, matching),) = matchings.items()
    point = LockedOperatingPoint.read(path)
    result = point.evaluate(matching, n_bootstrap=n_bootstrap, level=level, seed=seed)
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
        "level": level,
        "point": record,
    }


def draw_curves(
    matchings: dict[str, Matching],
    path: Path,
    fp: tuple[float, ...],
    n_bootstrap: int,
    level: float,
    seed: int,
) -> None:
    """Draw the FROC curves of all models."""
    from overread._plots import save_figure
    from overread.froc import plot_froc

    models = {name: (matching, None) for name, matching in matchings.items()}
    save_figure(plot_froc(models, fp_targets=fp, n_bootstrap=n_bootstrap, level=level, seed=seed), path)


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    """Print the report for machines or for people."""
    from overread.files import json_text

    if as_json:
        print_json(json_text(report))
    elif "point" in report:
        print_locked(report)
    else:
        print_froc(report)


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
