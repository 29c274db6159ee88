"""``overread scenario``: more images or more readings, soft labels or hard ones."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from overread.cli.conventions import print_plain
from overread.errors import UsageError

__all__ = ["scenario"]


def scenario(
    design: Path | None = None,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])] = Path("scenario-output"),
    demo: Annotated[bool, Parameter(negative=())] = False,
    page_only: Annotated[bool, Parameter(negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Compare ways to spend readings: training sets that grow in images and in readings, with soft and hard labels.

    Each point of the design (a training set, a model, a seed) is a file; a scenario that was stopped goes on where it
    was when the same command is given again. Writes scenario.html and tables/*.csv.

    Parameters
    ----------
    design
        A design in TOML (docs/results/scenarios.md).
    out
        Folder of the points, the page and the tables.
    demo
        Take the small design that comes with Overread; a few minutes.
    page_only
        Fit nothing: write the page of the points that are there.
    quiet
        Show no progress.
    """
    from overread.progress import ProgressBar
    from overread.scenario.design import demo_design, read_design
    from overread.scenario.run import run_scenario

    if (design is None) == (not demo):
        raise UsageError("scenario needs a DESIGN.toml, or --demo for the small one that comes with Overread")
    chosen = demo_design() if design is None else read_design(design)
    with nullcontext() if quiet else ProgressBar():
        done = run_scenario(chosen, out, fit=not page_only)
    for said in done.answers:
        print_plain(said)
    if done.n_missing:
        print_plain(f"{done.n_missing} points could not be fitted; the page says why.")
    print_plain(f"Tables: {out / 'tables'}")
    print_plain(f"Page: {done.page}")
