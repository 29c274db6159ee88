"""``overread report``: the page of a finished run, written again from its results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from overread.cli.conventions import print_plain
from overread.errors import InvalidInputError

__all__ = ["report"]


def report(
    run: Path,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    figures: Path | None = None,
) -> int:
    """Write the page of a finished run again; nothing is computed, no image is opened.

    Parameters
    ----------
    run
        Folder of the run: STUDY/runs/NAME.
    output
        Where to write the page, in place of report.html in the run's folder.
    figures
        A folder for the page's figures as SVG files of their own.
    """
    from overread.files.atomic import write_atomically
    from overread.files.records import from_json
    from overread.files.strict_json import read_json
    from overread.report import Pictures, RunHead, read_results, render_study

    for name in ("results.json", "figures.json", "pictures.json", "head.json"):
        if not (run / name).is_file():
            raise InvalidInputError(f"{run}: holds no {name} (run the study: overread run STUDY)")
    drawn = read_json(run / "figures.json")
    pictures = from_json(Pictures, read_json(run / "pictures.json"), str(run / "pictures.json"))
    head = from_json(RunHead, read_json(run / "head.json"), str(run / "head.json"))
    page = render_study(read_results(run / "results.json"), drawn, pictures, head)
    print_plain(f"Report: {write_atomically(output or run / 'report.html', page.encode())}")
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for name, svg in drawn.items():
            print_plain(f"Figure: {write_atomically(figures / f'{name}.svg', svg.encode())}")
    return 0
