"""``overread demo``: a small simulated study, run whole, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from overread._commands import WITH_BAD_IMAGES, OutputPath, print_plain, print_report, run_demo
from overread._text import duration, shell_word

NEXT = """\

The report: {report}
The study: {study} (study.toml, the tables, images/, runs/main/)
Try the detector on one of its images:
  overread detect {run} {image}{scale} --overlay -o found
  overread explain {run} {image}{scale}
For your data, in a folder of DICOM or PNG files (in a clone first: source .venv/bin/activate):
  overread init my_study                   if files lack the pixel size, add --mm-per-px 0.143
  overread import marks.xlsx --xy corner --all-read-all -o my_study    a spreadsheet, or another tool's file
  overread run my_study
  overread detect my_study/runs/main new_images/ --overlay"""


def demo(
    *,
    output: OutputPath = Path("demo-output"),
    kind: Literal["chest", "field"] = "chest",
    n_images: int | None = None,
    seed: int = 0,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
) -> int:
    """Simulate a small study, run it, and show the report.

    Example: overread demo --kind field --output field-demo

    Nothing is downloaded. Run the same command again to continue a demo that was stopped.

    Parameters
    ----------
    output
        Folder of the study; the report is runs/main/report.html in it.
    kind
        chest: radiographs with nodules. field: round colour images with vessels and with bright and dark
        lesions.
    n_images
        Number of images; by default 120 for chest and 60 for field.
    seed
        Random seed. The same seed gives the same study.
    open_page
        Open the report in a browser.
    """
    import time

    from overread.simulate import KINDS
    from overread.study import list_reports

    started = time.monotonic()
    report = run_demo(output, kind=kind, n_images=n_images, seed=seed)
    print_report(report)
    page = report.folder / "report.html"
    image = next(iter(sorted((output / "images").iterdir())))
    first = next(iter(list_reports(report).values()))
    mm_per_px = KINDS[kind].mm_per_px
    scale = "" if mm_per_px is None else f" --mm-per-px {mm_per_px:g}"
    print_plain(
        NEXT.format(
            report=page, study=output, run=shell_word(first.folder), image=shell_word(image), scale=scale
        )
    )
    print_plain(f"The demo took {duration(time.monotonic() - started)}.")
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    return WITH_BAD_IMAGES if report.n_quarantined else 0
