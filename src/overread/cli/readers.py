"""`overread readers`: how the readers of a study read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import fold_cells
from overread._terminal import make_console, print_json, print_line
from overread.truth import MergeOptions

if TYPE_CHECKING:
    import pandas as pd

    from overread.truth import ReaderStatistics


HEADERS = {
    "reader_id": "reader",
    "n_a": "marked\nby a",
    "n_b": "marked\nby b",
    "n_both": "by\nboth",
    "sensitivity": "found /\ngolden",
    "fp_per_image": "false /\nimage",
    "reader_a": "a",
    "reader_b": "b",
    "positive_agreement": "positive\nagreement",
    "image_kappa": "kappa of\nimages",
}
FIGURES = {"sensitivity": ".3f", "fp_per_image": ".3f", "positive_agreement": ".3f", "image_kappa": ".3f"}


def readers(
    study: Path | None = None,
    *,
    marks: Path | None = None,
    readings: Path | None = None,
    derive_readings: bool = False,
    figure: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
    options: Annotated[MergeOptions | None, Parameter(name="*", group="Merging")] = None,
) -> None:
    """Show how the readers read: sensitivity, false positives, agreement.

    Sensitivity and false positives stand twice: against the golden objects of all readers, as the paper has
    them, and (loo) against those that the other readers make without the one who is judged, in images with three
    readings or more.

    Parameters
    ----------
    study
        Folder with marks and readings (.csv or .parquet). Unit, groups of labels and merging are those of its
        study.toml, unless options below say otherwise.
    marks
        Table of marks, instead of a study folder.
    readings
        Table of readings: a row for every reading, also where nothing was marked.
    derive_readings
        Take a reader to have read just the images with his marks. False positives come out too high.
    figure
        Draw readings per image and the readers' rates (PNG, SVG or PDF).
    json
        Print JSON instead of tables.
    options
        How marks are merged.
    """
    from overread._commands import load_marks, print_warnings
    from overread._plots import figure_kind, save_figure
    from overread.study import take_study_marks
    from overread.truth import reader_statistics, readers_figure

    if figure is not None:
        figure_kind(figure)
    loaded = load_marks(study, marks, readings, derive_readings=derive_readings)
    found = take_study_marks(study, loaded, options)
    with print_warnings():
        statistics = reader_statistics(
            found.tables.marks, found.tables.readings, options=found.options, in_mm=found.in_mm
        )
    if figure is not None:
        save_figure(readers_figure(statistics), figure)
    if json:
        _print_record(statistics)
    else:
        _print_tables(statistics)
        if figure is not None:
            print_line(f"Wrote {figure}")


def _print_record(statistics: ReaderStatistics) -> None:
    """Print the tables, and how many images loo_ leaves out, as one JSON object; a rate of nothing is null."""
    from overread.files import json_text

    tables = {name: table.to_dict("records") for name, table in vars(statistics).items()}
    print_json(json_text({**tables, "images_not_in_loo": statistics.n_left_out}))


def _print_tables(statistics: ReaderStatistics) -> None:
    """Print the tables for people; no leave-one-out where no reader has two others."""
    console = make_console()
    console.print(_rich_table(statistics.readings_per_image, "Readings per image"))
    left_out = [name for name in statistics.readers.columns if name.startswith("loo_")]
    by_all = statistics.readers.drop(columns=left_out)
    by_others = statistics.readers.loc[statistics.readers["loo_n_readings"] > 0, ["reader_id", *left_out]]
    console.print(_rich_table(by_all, "Against the golden objects of all readers (as the paper)"))
    few, n_images = statistics.n_left_out, int(statistics.readings_per_image["n_images"].sum())
    if by_others.empty:
        console.print(
            "No leave-one-out table: golden is what two other readers marked, and no image has three readings.\n"
        )
    else:
        title = "Against the golden objects of the other readers (leave-one-out)"
        console.print(_rich_table(by_others.rename(columns=lambda name: name.removeprefix("loo_")), title))
        if few:
            console.print(
                f"Left out of that table: {few:,} of {n_images:,} images, which have fewer than three readings.\n"
            )
    console.print(_rich_table(statistics.pairs, "Two readers on the images that both read"))


def _rich_table(frame: pd.DataFrame, title: str) -> Any:
    """Table of a data frame; rates have three decimals."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(
        *(HEADERS.get(name, name.removeprefix("n_").replace("_", " ")) for name in frame.columns), title=title
    )
    for row in frame.itertuples(index=False):
        cells = zip(frame.columns, row, strict=True)
        table.add_row(*(escape(format(value, FIGURES.get(name, ""))) for name, value in cells))
    return fold_cells(table)
