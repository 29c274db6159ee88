"""`overread readers`: sensitivity, false positives and agreement of a study's readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from overread._commands import Flag, MarkTables, emit, print_table
from overread._terminal import make_console, print_line
from overread.truth import MergeOptions

if TYPE_CHECKING:
    import pandas as pd

    from overread.truth import ReaderStatistics


HEADERS = {
    "reader_id": "reader",
    "n_a": "marked\nby a",
    "n_b": "marked\nby b",
    "n_both": "by\nboth",
    "sensitivity": "found /\nconsensus",
    "fp_per_image": "false /\nimage",
    "reader_a": "a",
    "reader_b": "b",
    "positive_agreement": "positive\nagreement",
    "image_kappa": "kappa of\nimages",
}
RATES = ("sensitivity", "fp_per_image", "positive_agreement", "image_kappa")


def readers(
    tables: MarkTables | None = None,
    *,
    figure: Path | None = None,
    json: Flag = False,
    options: Annotated[MergeOptions | None, Parameter(name="*", group="Merging")] = None,
) -> None:
    """Show how the readers read: sensitivity, false positives, agreement.

    Sensitivity and false positives are given twice: against the consensus objects of all readers, as in the
    paper, and (leave-one-out) against those of the other readers, in images with three or more readings.

    Parameters
    ----------
    tables
        Marks and readings.
    figure
        Draw the readings per image and the readers' rates (PNG, SVG or PDF).
    json
        Print JSON instead of tables.
    options
        How marks are merged.
    """
    from overread._commands import print_warnings
    from overread._plots import figure_kind, save_figure
    from overread.truth import reader_statistics, readers_figure

    if figure is not None:
        figure_kind(figure)
    found = (tables or MarkTables()).load(options)
    with print_warnings():
        statistics = reader_statistics(
            found.tables.marks, found.tables.readings, options=found.options, unit=found.unit
        )
    if figure is not None:
        save_figure(readers_figure(statistics), figure)
    records = {name: table.to_dict("records") for name, table in vars(statistics).items()}
    emit({**records, "images_not_in_loo": statistics.n_left_out}, lambda _: _show(statistics), as_json=json)
    if figure is not None and not json:
        print_line(f"Wrote {figure}")


def _show(statistics: ReaderStatistics) -> None:
    """Print the tables; the leave-one-out table needs images with three readings."""
    _print_frame(statistics.readings_per_image, "Readings per image")
    left_out = [name for name in statistics.readers.columns if name.startswith("loo_")]
    by_all = statistics.readers.drop(columns=left_out)
    by_others = statistics.readers.loc[statistics.readers["loo_n_readings"] > 0, ["reader_id", *left_out]]
    _print_frame(by_all, "Against the consensus objects of all readers (as in the paper)")
    few, n_images = statistics.n_left_out, int(statistics.readings_per_image["n_images"].sum())
    console = make_console()
    if by_others.empty:
        console.print(
            "No leave-one-out table: it needs images with three or more readings, and there are none.\n"
        )
    else:
        title = "Against the consensus objects of the other readers (leave-one-out)"
        _print_frame(by_others.rename(columns=lambda name: name.removeprefix("loo_")), title)
        if few:
            console.print(
                f"Not in that table: {few:,} of {n_images:,} images, which have fewer than three readings.\n"
            )
    _print_frame(statistics.pairs, "Pairs of readers on the images that both read")


def _print_frame(frame: pd.DataFrame, title: str) -> None:
    """Print a data frame; rates have three decimals."""
    shown = frame.assign(**{name: frame[name].map("{:.3f}".format) for name in RATES if name in frame})
    header = (HEADERS.get(name, name.removeprefix("n_").replace("_", " ")) for name in frame.columns)
    print_table(header, shown.itertuples(index=False), title=title)
