"""`overread froc`: how good is a detector, from its scores and the ground truth alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread.cli.froc_inputs import CountingOptions, ReadingOptions
from overread.errors import UsageError
from overread.froc.defaults import CHANCE_SHIFTS, FP_TARGETS, LEVEL, N_BOOTSTRAP
from overread.screen import print_json

if TYPE_CHECKING:
    from overread.cli.froc_inputs import Evaluation, ScoredModel
    from overread.froc.matching import Matching

__all__ = ["draw_curves", "froc", "summarize"]


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
    from overread.cli.conventions import check_seed
    from overread.cli.froc_inputs import check_before_work, load_evaluation, make_counting
    from overread.froc.intervals import check_draws

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
    from overread.progress import ProgressBar, begin_work

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
    from overread.froc.bootstraps import bootstrap

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
    from overread.froc.chance import chance_level

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

    from overread.froc.merit import estimate_figures, whole_curve_figures

    figures = whole_curve_figures(matching)
    if not matching.n_gts:
        return []
    found = estimate_figures(matching, figures, n_bootstrap=n_bootstrap, level=level, seed=seed)
    return [asdict(figure) for figure in found]


def _lock_threshold(matchings: dict[str, Matching], path: Path, fp_target: float) -> dict[str, Any]:
    """Write a locked operating point of the one model."""
    from overread.froc.locked import lock_operating_point

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
    from overread.froc.locked import LockedOperatingPoint

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
    from overread.froc.plots import plot_froc
    from overread.plots import save_figure

    models = {name: (matching, None) for name, matching in matchings.items()}
    save_figure(plot_froc(models, fp_targets=fp, n_bootstrap=n_bootstrap, level=level, seed=seed), path)


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    """Print the report for machines or for people."""
    from overread.cli.froc_output import print_froc, print_locked
    from overread.files.strict_json import json_text

    if as_json:
        print_json(json_text(report))
    elif "point" in report:
        print_locked(report)
    else:
        print_froc(report)
