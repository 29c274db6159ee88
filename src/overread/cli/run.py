"""`overread run`: a whole study from its folder."""

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
        print_json(_results_text(report))
    else:
        print_report(report)
    return WITH_BAD_IMAGES if report.n_quarantined else 0


def _results_text(report: RunReport) -> str:
    """Return results.json as it is, number by number; of a run of groups those of each, by its name."""
    from json import dumps

    texts = {
        group: (one.folder / "results.json").read_text(encoding="utf-8").strip()
        for group, one in (report.groups or {"": report}).items()
    }
    if not report.groups:
        return texts[""]
    return "{" + ",\n".join(f"{dumps(group)}: {text}" for group, text in texts.items()) + "}"
