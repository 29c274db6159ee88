"""``overread demo``: a small simulated study, run whole, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

__all__ = ["demo"]

# A grid and a bootstrap just large enough that the report of a small cohort is whole; chosen by eye, for speed.
SETTINGS = """\
# The study of `overread demo`; every key that is not here has its default (overread init writes them all).
name = "Overread demo"
seed = {seed}

[candidates]
limit = 30

[models]
folds = 5

[b1]
prune_bounds = [100.0]

[b2]
prune_bounds = [100.0]
n_bootstrap = 50

[evaluation]
n_bootstrap = 500
headline = "test"
"""
NEXT = """\

The report: {report}
The study, to look at: {study} (study.toml, the tables, images/, runs/main/)
The detector on an image of it:
  overread detect {run} {image} --overlay -o found
  overread explain {run} {image}
Your own data, in a folder of DICOM or PNG files (in a clone first: source .venv/bin/activate):
  overread init my_study                   files that do not state it need --mm-per-px 0.143
  overread import marks.xlsx --xy corner --all-read-all --out my_study    a spreadsheet, or another tool's file
  overread run my_study
  overread detect my_study/runs/main new_images/ --overlay"""


def demo(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("demo-output"),
    n_images: int = 120,
    seed: int = 0,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> int:
    """Simulate a small cohort of phantoms and readers, run the whole study on it, and show the report.

    Nothing is downloaded. A demo that was stopped goes on where it was when the same command is given again.

    Parameters
    ----------
    output
        Folder of the study; the report is runs/main/report.html in it.
    n_images
        Images of the cohort.
    seed
        Seed of everything random.
    open_page
        Open the report in a browser.
    """
    import time

    from overread import simulate
    from overread.cli.conventions import WITH_BAD_IMAGES, check_seed, print_plain
    from overread.cli.run import print_results
    from overread.cli.simulated_run import run_simulated
    from overread.simulate import CaseLaw, NoduleLaw
    from overread.study import read_results
    from overread.study.workers.executors import count_processors
    from overread.words import duration, shell_word

    started, seed = time.monotonic(), check_seed(seed)
    # Many and clear nodules, so that so few images teach the models something.
    law = CaseLaw(nodules=NoduleLaw(counts=(0.2, 0.2, 0.3, 0.3), conspicuity=(1.2, 4.0)), distractors=0.6)
    workers = count_processors()
    report = run_simulated(
        lambda: simulate.cohort(output, n_images=n_images, law=law, seed=seed, format="png", workers=workers),
        SETTINGS.format(seed=seed),
        workers=workers,
    )
    print_results(report, read_results(report.folder / "results.json"))
    page = report.folder / "report.html"
    image = next(iter(sorted((output / "images").iterdir())))
    print_plain(
        NEXT.format(
            report=page,
            study=output,
            run=shell_word(report.folder),
            image=f"{shell_word(image)} --mm-per-px 0.7",
        )
    )
    print_plain(f"The demo took {duration(time.monotonic() - started)}.")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return WITH_BAD_IMAGES if report.n_quarantined else 0
