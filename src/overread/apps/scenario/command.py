"""``overread scenario``: more images or more readings, soft or hard labels.

It runs a scenario from its design to its page.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from overread._commands import Flag, OutputPath, print_plain
from overread.apps.scenario._design import Design, demo_design, read_design
from overread.apps.scenario._draw import tabulate_skills
from overread.apps.scenario._material import prepare_material
from overread.apps.scenario._page import PAGE, give_answers, write_scenario
from overread.apps.scenario._points import claim_folder, list_points, run_points
from overread.apps.scenario._results import ScenarioResults, sum_up_points
from overread.errors import UsageError


def scenario(
    design: Path | None = None,
    *,
    output: OutputPath = Path("scenario-output"),
    demo: Flag = False,
    page_only: Flag = False,
    quiet: Flag = False,
) -> None:
    """Compare ways to spend readings: training sets that grow in images and in readings, with soft and hard labels.

    Run the same command again to continue a scenario that was stopped. Writes scenario.html and tables/*.csv.

    Parameters
    ----------
    design
        File of the design, in TOML (docs/how-to/scenario.md).
    output
        Folder for the points, the page and the tables.
    demo
        Use the small design of Overread, which takes a few minutes.
    page_only
        Fit nothing; write the page from the finished points.
    quiet
        Show no progress.
    """
    from overread._terminal import ProgressBar

    if (design is None) == (not demo):
        raise UsageError("scenario needs a DESIGN.toml, or --demo for the small design of Overread")
    chosen = demo_design() if design is None else read_design(design)
    with nullcontext() if quiet else ProgressBar():
        results = run_scenario(chosen, output, fit=not page_only)
    for said in give_answers(results):
        print_plain(said)
    if len(results.missing):
        print_plain(f"{len(results.missing)} points could not be fitted; the page gives the reasons.")
    print_plain(f"Tables: {output / 'tables'}")
    print_plain(f"Page: {output / PAGE}")


def run_scenario(design: Design, folder: Path, *, fit: bool = True) -> ScenarioResults:
    """Measure the missing points of a design, and write tables and page; return the tables.

    Parameters
    ----------
    design
        The design.
    folder
        Folder for all output; new, or with points of the same design.
    fit
        Whether to measure; otherwise the page shows the finished points.
    """
    claim_folder(folder, design)
    material = prepare_material(design, folder)
    points = run_points(design, material, folder) if fit else list_points(design, folder)
    results = sum_up_points(points, design, tabulate_skills(material, design))
    write_scenario(results, design, material.words, folder)
    return results
