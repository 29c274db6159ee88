"""``overread demo``: a small simulated study, run whole, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from overread.study import RunReport


# A grid and a bootstrap just large enough that the report of a small cohort is whole; chosen by eye, for speed.
CHEST_SETTINGS = """\
# The study of `overread demo`; every key that is not here has its default (overread init writes them all).
name = "Overread demo"
seed = {seed}

[candidates]
limit = 30
"""
SMALL_STUDY = """
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
  overread detect {run} {image}{scale} --overlay -o found
  overread explain {run} {image}{scale}
Your own data, in a folder of DICOM or PNG files (in a clone first: source .venv/bin/activate):
  overread init my_study                   files that do not state it need --mm-per-px 0.143
  overread import marks.xlsx --xy corner --all-read-all --out my_study    a spreadsheet, or another tool's file
  overread run my_study
  overread detect my_study/runs/main new_images/ --overlay"""


def demo(
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("demo-output"),
    kind: Literal["chest", "field"] = "chest",
    n_images: int | None = None,
    seed: int = 0,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> int:
    """Simulate a small cohort of phantoms and readers, run the whole study on it, and show the report.

    Example: overread demo --kind field --output field-demo

    Nothing is downloaded. A demo that was stopped goes on where it was when the same command is given again.

    Parameters
    ----------
    output
        Folder of the study; the report is runs/main/report.html in it.
    kind
        chest: radiographs with nodules. field: round colour pictures with vessels and bright and dark lesions.
    n_images
        Images of the cohort; 120 chests or 60 fields if not given.
    seed
        Seed of everything random.
    open_page
        Open the report in a browser.
    """
    import time

    from overread._commands import WITH_BAD_IMAGES, check_seed, print_plain
    from overread._text import duration, shell_word
    from overread.cli.run import print_report
    from overread.study import count_processors, list_reports

    started, seed = time.monotonic(), check_seed(seed)
    run = _run_fields if kind == "field" else _run_chests
    report = run(output, n_images, seed, count_processors())
    print_report(report)
    page = report.folder / "report.html"
    image = next(iter(sorted((output / "images").iterdir())))
    first = next(iter(list_reports(report).values()))
    scale = "" if kind == "field" else " --mm-per-px 0.7"
    print_plain(
        NEXT.format(
            report=page,
            study=output,
            run=shell_word(first.folder),
            image=shell_word(image),
            scale=scale,
        )
    )
    print_plain(f"The demo took {duration(time.monotonic() - started)}.")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return WITH_BAD_IMAGES if report.n_quarantined else 0


def _run_chests(output: Path, n_images: int | None, seed: int, workers: int) -> RunReport:
    """Make and run the study of chests."""
    from overread import simulate
    from overread._commands import run_simulated
    from overread.simulate import CaseDistribution, NoduleDistribution

    # Many and clear nodules, so that so few images teach the models something.
    law = CaseDistribution(
        nodules=NoduleDistribution(counts=(0.2, 0.2, 0.3, 0.3), conspicuity=(1.2, 4.0)), distractors=0.6
    )
    return run_simulated(
        lambda: simulate.cohort(
            output, n_images=n_images or 120, law=law, seed=seed, format="png", workers=workers
        ),
        CHEST_SETTINGS.format(seed=seed) + SMALL_STUDY,
        workers=workers,
    )


def _run_fields(output: Path, n_images: int | None, seed: int, workers: int) -> RunReport:
    """Make and run the study of fields, with the settings that the simulation writes."""
    from overread import simulate
    from overread._commands import run_simulated
    from overread.simulate import FIELD_LAYOUT

    settings = FIELD_LAYOUT.settings
    return run_simulated(
        lambda: simulate.picture_cohort(output, n_images=n_images or 60, seed=seed, workers=workers),
        settings.replace("seed = 0\n", f'name = "Overread demo"\nseed = {seed}\n', 1) + SMALL_STUDY,
        workers=workers,
        replaced=settings,
    )
