"""`overread run`: run a study from its folder."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from overread._commands import WITH_BAD_IMAGES, Flag, check_seed, print_report
from overread._terminal import print_json

if TYPE_CHECKING:
    from overread.study import RunReport


def run(
    study: Path,
    *,
    name: str = "main",
    seed: int | None = None,
    executor: Literal["serial", "processes", "dask"] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    memory_mb: int | None = None,
    quiet: Flag = False,
    json: Flag = False,
) -> int:
    """Run a study: merge marks, find candidates, compute features, fit three models, lock thresholds, test.

    An interrupted run continues where it stopped, and steps whose inputs did not change are not repeated.
    Exit code 3: finished, but some images were skipped.

    Parameters
    ----------
    study
        Folder with study.toml, the tables and the images, as overread init makes it.
    name
        Name of the run, whose files go to STUDY/runs/NAME.
    seed
        Random seed, instead of the one in study.toml.
    executor
        How images are processed, instead of the setting in study.toml.
    workers
        Number of local worker processes.
    scheduler
        Address of a Dask cluster, such as tcp://10.0.0.5:8786; implies --executor dask.
    memory_mb
        Memory in megabytes for the run. Models are fitted from the file of features if these need more.
    quiet
        Do not show progress.
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
        print_json(_results_text(report))
    else:
        print_report(report)
    return WITH_BAD_IMAGES if report.n_quarantined else 0


def _results_text(report: RunReport) -> str:
    """Return results.json unchanged; for a run of groups, those of each group by its name."""
    from json import dumps

    texts = {
        group: (one.folder / "results.json").read_text(encoding="utf-8").strip()
        for group, one in (report.groups or {"": report}).items()
    }
    if not report.groups:
        return texts[""]
    return "{" + ",\n".join(f"{dumps(group)}: {text}" for group, text in texts.items()) + "}"
