"""``overread report``: write the report of a finished run again, from its results."""

from __future__ import annotations

from pathlib import Path

from overread._commands import OutputPath, print_plain
from overread.errors import UsageError


def report(
    run: Path, *, output: OutputPath | None = None, figures: Path | None = None, latex: bool = False
) -> int:
    """Write the report and the model card of a finished run again; nothing is computed, no image is opened.

    Parameters
    ----------
    run
        Folder of the run: STUDY/runs/NAME.
    output
        File for the report instead of report.html in the run's folder; the model card is then not written.
    figures
        Folder for the figures of the report as SVG files.
    latex
        Also write Table 1 as LaTeX to table_1.tex in the folder of the report.
    """
    from overread.files import write_atomically
    from overread.report import CARD_FILE, render_study, write_latex, write_model_card
    from overread.study import open_run, read_groups, write_group_page

    groups = read_groups(run)
    if groups:
        if figures is not None or latex:
            option = "--latex" if latex else "--figures"
            raise UsageError(f"{option}: give the run of one group, such as {next(iter(groups.values()))}")
        print_plain(f"Report: {write_group_page(run, groups, output=output)}")
        return 0
    finished = open_run(run)
    drawn = finished.figures
    page = render_study(finished.results, drawn, finished.pictures, finished.head)
    target = run / "report.html" if output is None else output
    written = write_atomically(target, page.encode(), within=run if output is None else None)
    print_plain(f"Report: {written}")
    if output is None:
        card = write_model_card(finished.results, finished.head)
        print_plain(f"Model card: {write_atomically(run / CARD_FILE, card.encode(), within=run)}")
    if latex:
        table = write_latex(finished.results)
        print_plain(f"Table 1: {write_atomically(target.with_name('table_1.tex'), table.encode())}")
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        for name, svg in drawn.items():
            print_plain(f"Figure: {write_atomically(figures / f'{name}.svg', svg.encode())}")
    return 0
