"""`overread run`: a whole study from its folder."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from overread._commands import WITH_BAD_IMAGES, check_seed, fold_cells, print_plain
from overread._terminal import make_console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from overread.report import StudyResults
    from overread.study import RunReport


OUTPUTS = {
    "Results": "results.json",
    "Detector": "detector.json",
    "Model card": "model_card.md",
    "Report": "report.html",
}


def run(
    study: Path,
    *,
    name: str = "main",
    seed: int | None = None,
    executor: Literal["serial", "processes", "dask"] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    memory_mb: int | None = None,
    quiet: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Run a study: marks, truth, candidates, features, three models, locked operating points, test.

    What an earlier run finished and what still holds is not done again, so an interrupted run goes on where it
    stopped. Exit code 3: finished, but some images could not be used.

    Parameters
    ----------
    study
        Folder with study.toml, the tables and the images (make it with: overread init).
    name
        Name of the run; files go to STUDY/runs/NAME.
    seed
        Seed of everything random, in place of the one in study.toml.
    executor
        Who works on the images, in place of the one in study.toml.
    workers
        Number of local worker processes.
    scheduler
        Address of a Dask cluster, such as tcp://10.0.0.5:8786; takes the executor dask.
    memory_mb
        Megabytes that the run itself may take: models are fitted from the file of features where they do not fit.
    quiet
        Show no progress.
    json
        Print all results as JSON.
    """
    from overread._terminal import ProgressBar
    from overread.study import run_study

    given = {"executor": executor, "workers": workers, "scheduler": scheduler, "memory_mb": memory_mb}
    execution: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if scheduler is not None:
        execution.setdefault("executor", "dask")
    with nullcontext() if quiet or json else ProgressBar():
        report = run_study(
            study, name=name, seed=None if seed is None else check_seed(seed), execution=execution
        )
    if json:
        print_json(_tell_results(report))
    else:
        print_report(report)
    return WITH_BAD_IMAGES if report.n_quarantined else 0


def _tell_results(report: RunReport) -> str:
    """Return all results as JSON; of a run of groups those of each, by its name."""
    from json import dumps

    texts = {
        group: (one.folder / "results.json").read_text(encoding="utf-8").strip()
        for group, one in (report.groups or {"": report}).items()
    }
    if not report.groups:
        return texts[""]
    return "{" + ",\n".join(f"{dumps(group)}: {text}" for group, text in texts.items()) + "}"


def print_report(report: RunReport) -> None:
    """Print what was found, group by group where there are several."""
    from overread.report import read_results
    from overread.study import list_reports

    for group, one in list_reports(report).items():
        if group:
            print_plain(f"Group {group}")
        print_results(one, read_results(one.folder / "results.json"))
    if report.groups:
        print_plain(f"Report of all groups: {report.folder / 'report.html'}")


def print_results(report: RunReport, results: StudyResults) -> None:
    """Print what was found in two tables, and in the end the verdict."""
    from overread.report import sum_up

    console = make_console()
    console.print(_counts_table(results))
    console.print(_sensitivity_table(results))
    if report.n_quarantined:
        console.print(f"{report.n_quarantined} of {report.n_images} images were given up:", style="yellow")
        for one in results.study.quarantined[:10]:
            print_plain(f"  {one.image_id}: {one.reason}")
    for name, file in OUTPUTS.items():
        if (report.folder / file).is_file():
            print_plain(f"{name}: {report.folder / file}")
    for line in sum_up(results):
        print_plain(line)


def _counts_table(results: StudyResults) -> Table:
    """Sizes of the parts."""
    from rich.table import Table

    table = Table("part", "images", "patients", "golden GTs", "reached", "candidates", title="The study")
    for column in table.columns[1:]:
        column.justify = "right"
    for part in results.study.splits:
        cells = (part.n_images, part.n_patients, part.n_golden, part.n_golden_reached, part.n_candidates)
        table.add_row(part.name, *(f"{number:,}" for number in cells))
    return fold_cells(table)


def _sensitivity_table(results: StudyResults) -> Table:
    """Sensitivity in unseen patients at the thresholds that were locked out of fold."""
    from rich.table import Table

    from overread.report import is_nested

    nested = is_nested(results)
    table = Table(
        "model",
        "features",
        "locked for\nFP per image",
        "FP per image\nunseen" if nested else "FP per image\nin test",
        "golden GTs\nfound" if nested else "golden GTs\nfound in test",
        title="All patients by nested cross-validation, thresholds locked in each fold without its patients"
        if nested
        else "The test set, thresholds locked on training + validation (out of fold)",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for model in results.models:
        rows = model.counted[0].locked
        rows = rows[rows["source"] == "out_of_fold"]
        shown = [rows[rows["measure"] == measure] for measure in ("gt_sensitivity", "fp_per_image")]
        pairs = zip(results.fp_targets, *(part.to_dict("records") for part in shown), strict=True)
        for row, (target, found, induced) in enumerate(pairs):
            named = ("", "") if row else (model.title, str(model.n_features))
            table.add_row(*named, f"{target:g}", f"{induced['estimate']:.2f}", _format_percent(found))
        table.add_section()
    return fold_cells(table)


def _format_percent(row: dict[Any, Any]) -> str:
    """Sensitivity with its interval, in per cent."""
    numbers = [row[name] for name in ("estimate", "lower", "upper")]
    if any(number is None or number != number for number in numbers):
        return "-"
    share, low, high = (100 * number for number in numbers)
    return f"{share:.0f} % ({low:.0f} to {high:.0f})"
