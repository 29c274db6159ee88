"""``overread import``: other tools' marks become the tables of a study."""

from __future__ import annotations

import inspect
import json as json_text
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from overread.cli.conventions import fold_cells
from overread.errors import UsageError
from overread.marks import FORMATS, MarkSet, combine, read_marks, write_folder
from overread.marks.importing import Option, keep_labels

__all__ = ["import_marks"]

FORMAT_HELP = "auto looks at the content, or: " + ", ".join(
    f"{entry.name} ({entry.description})" for entry in FORMATS.values()
)


@dataclass(frozen=True)
class Source:
    """A file to read, and its reader where the user names him."""

    file: Path
    reader: str | None = None


def import_marks(
    *files: Path,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    format: Annotated[str, Parameter(help=FORMAT_HELP)] = "auto",
    reader: Annotated[list[str] | None, Parameter(negative="")] = None,
    mm_per_px: str | None = None,
    images: Path | None = None,
    label: Annotated[list[str] | None, Parameter(negative="")] = None,
    parquet: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    **of_format: Any,
) -> None:
    """Turn other tools' marks into marks, readings and images tables.

    Parameters
    ----------
    files
        Files to read; several are joined.
    out
        Folder for the tables; made if need be.
    format
        A name in `overread.marks.FORMATS`, or auto.
    reader
        NAME=FILE: a file that is one reader's (cvat, coco). Repeat it for each reader.
    mm_per_px
        Millimetres per pixel, one number or X,Y, where the format does not tell it.
    images
        Images table with mm_per_px_x and mm_per_px_y, where images differ; its image_id is the image's id or the
        name of its file.
    label
        Keep only marks with this label; readings stay. Repeat it for several.
    parquet
        Write Parquet instead of CSV.
    overwrite
        Replace tables that are there already.
    json
        Print a summary for machines.
    **of_format
        Options of the formats, as `overread.marks.FORMATS` lists them.
    """
    from overread.cli.conventions import print_warnings

    given = {**of_format, "mm_per_px": parse_spacing(mm_per_px), "images": images}
    options = {name: value for name, value in given.items() if value is not None and value is not False}
    sources = [*(Source(file) for file in files), *map(parse_reader, reader or [])]
    if not sources:
        raise UsageError("no file to import; try: overread import --help")
    with print_warnings():
        found = combine(read_all(sources, format, options))
    if label:
        found = select_labels(found, label)
    written = write_folder(found, out, ending="parquet" if parquet else "csv", overwrite=overwrite)
    report(found, written, json=json)


def options_of_formats() -> list[inspect.Parameter]:
    """Make the command's parameters of the formats' own options, one for all formats that share it."""
    owners: dict[Option, list[str]] = {}
    for entry in FORMATS.values():
        for option in entry.options:
            owners.setdefault(option, []).append(entry.name)
    return [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option.type is bool else None,
            annotation=Annotated[
                option.type if option.type is bool else option.type | None,
                Parameter(help=f"{', '.join(names)}: {option.help}", negative=""),
            ],
        )
        for option, names in owners.items()
    ]


def offer_options_of_formats(command: Callable[..., None]) -> None:
    """Give the command a signature in which the formats' options stand one by one, for the command line to read."""
    own = inspect.signature(command)
    named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters = [*named, *options_of_formats()]
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]


offer_options_of_formats(import_marks)


def parse_spacing(text: str | None) -> tuple[float, float] | None:
    """Spacing (x, y) of one number or two."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(0 < number < float("inf") for number in numbers):
        raise UsageError(f"--mm-per-px {text!r}: give one positive number such as 0.143, or two as 0.14,0.15")
    return numbers[0], numbers[-1]


def parse_reader(text: str) -> Source:
    """File and reader of NAME=FILE."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise UsageError(f"--reader {text!r}: write NAME=FILE")
    return Source(Path(file), name)


def read_all(sources: list[Source], format_: str, options: dict[str, Any]) -> list[MarkSet]:
    """Read every file, and show how many are read."""
    from overread.progress import ProgressBar, count_steps

    with ProgressBar():
        return [
            read_marks(
                source.file, format_, **(options | ({"reader": source.reader} if source.reader else {}))
            )
            for source in count_steps("reading: files", sources)
        ]


def select_labels(found: MarkSet, labels: list[str]) -> MarkSet:
    """Keep the marks of some labels."""
    kept = keep_labels(found.marks, labels)
    others = found.marks.loc[~found.marks["label"].isin(labels), "label"].value_counts()
    if len(others):
        listed = ", ".join(f"{label!r} {count}" for label, count in others.items())
        print(f"overread: left out {others.sum()} marks with other labels: {listed}", file=sys.stderr)
    return MarkSet(kept, found.readings, found.images)


def report(found: MarkSet, written: list[Path], *, json: bool) -> None:
    """Say what was found and where it went."""
    readings = found.readings
    marked = found.marks[["image_id", "reader_id"]].drop_duplicates()
    counts = {
        "images": len(found.images),
        "readers": int(readings["reader_id"].nunique()),
        "readings": len(readings),
        "readings_without_marks": len(readings) - len(marked),
        "marks": len(found.marks),
    }
    if json:
        print(json_text.dumps({**counts, "files": [str(path) for path in written]}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("what", "number", show_edge=False)
    table.columns[1].justify = "right"
    for name, count in counts.items():
        table.add_row(name.replace("_", " "), f"{count:,}")
    console = Console()
    console.print(fold_cells(table))
    for path in written:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False, markup=False)
