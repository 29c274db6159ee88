"""`overread compare`: compare two models on the same images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import Flag, Resampling, emit
from overread.cli._froc_inputs import CountingOptions, ReadingOptions
from overread.cli.froc import COMPARED, draw_curves, print_comparison, summarize
from overread.errors import UsageError
from overread.froc import FP_TARGETS, N_BOOTSTRAP

if TYPE_CHECKING:
    from overread.cli._froc_inputs import FrocEvaluation
    from overread.froc import Matching


def compare(
    a: Path,
    b: Path,
    truth: Path | None = None,
    *,
    fp: Annotated[tuple[float, ...], Parameter(negative=())] = FP_TARGETS,
    n_permutations: int = N_BOOTSTRAP,
    figure: Path | None = None,
    json: Flag = False,
    resampling: Resampling | None = None,
    reading: Annotated[ReadingOptions | None, Parameter(name="*", group="Reading")] = None,
    counting: Annotated[CountingOptions | None, Parameter(name="*", group="Counting")] = None,
) -> None:
    """Compare two models on the same images: differences, paired intervals, permutation test.

    Parameters
    ----------
    a
        Detections of the first model, or one table with a score column for each of the two models.
    b
        Detections of the second model; or the ground truth, where the first file has both models.
    truth
        Ground truth, where each model has its own file.
    fp
        False positives per image at which to compare the models; repeat for more.
    n_permutations
        Number of permutations for the p-values; each swaps the models in random patients.
    figure
        Draw both curves (PNG, SVG or PDF).
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
    files, ground_truth = ((a,), b) if truth is None else ((a, b), truth)
    evaluation = load_evaluation(files, ground_truth, reading or ReadingOptions(), make_counting(counting))
    if len(evaluation.models) != 2:
        names = ", ".join(evaluation.models)
        raise UsageError(
            f"compare needs two models, and {', '.join(map(str, files))} has {len(evaluation.models)} ({names}). "
            "Choose two with --score A --score B, or give two files and the truth."
        )
    matchings = evaluation.matchings()
    report = _report_comparison(evaluation, matchings, fp, n_permutations, draws)
    if figure is not None:
        draw_curves(matchings, figure, fp, draws)
    emit(report, print_comparison, as_json=json)


def _report_comparison(
    evaluation: FrocEvaluation,
    matchings: dict[str, Matching],
    fp: tuple[float, ...],
    n_permutations: int,
    draws: Resampling,
) -> dict[str, Any]:
    """Report the differences at the FP targets and of the whole curve, with a verdict."""
    from dataclasses import asdict

    from overread._terminal import ProgressBar, begin_work
    from overread.froc import compare_figures, compare_models, verdict, whole_curve_figures

    first, second = matchings.values()
    replicates = {"n_bootstrap": draws.n_bootstrap, "n_permutations": n_permutations, "seed": draws.seed}
    with ProgressBar(), begin_work("resampling patients", None):
        points = compare_models(first, second, fp_targets=fp, **replicates).table(draws.level)
        figures = (
            compare_figures(first, second, whole_curve_figures(first), **replicates, level=draws.level)
            if first.n_gts
            else ()
        )
    shown = points[points["measure"].isin(COMPARED)].sort_values(["fp_target", "measure"])
    first_name, second_name = matchings
    return summarize(evaluation, first) | {
        "first": first_name,
        "second": second_name,
        "level": draws.level,
        "points": shown.to_dict("records"),
        "figures_of_merit": [asdict(figure) for figure in figures],
        "verdict": verdict(first_name, second_name, figures),
    }
