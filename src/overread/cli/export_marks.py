"""``overread export``: a study's marks go back to an annotation tool."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from overread.errors import UsageError
from overread.marks import FORMATS, read_folder, write_marks

__all__ = ["export_marks"]

FORMAT_HELP = ", ".join(f"{entry.name} ({entry.description})" for entry in FORMATS.values() if entry.writer)


def export_marks(
    study: Path,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    format: Annotated[str, Parameter(help=FORMAT_HELP)] = "label-studio",
    geometry: str | None = None,
    parquet: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Write a study's marks and readings in another tool's format.

    Parameters
    ----------
    study
        Folder with marks, readings and images tables.
    out
        A file for label-studio; a folder for plain, dicom-sr and gsps.
    format
        A name in `overread.marks.FORMATS` of one that can be written.
    geometry
        dicom-sr: ellipse (lossless, default) or polyline (closed, 64 points).
    parquet
        plain: write Parquet instead of CSV.
    overwrite
        Replace what is there already.
    json
        Print the files' names for machines.
    """
    from overread.cli.conventions import print_warnings

    if out.is_file() and not overwrite:
        raise UsageError(f"{out} is there already; choose another name, or --overwrite")
    options: dict[str, Any] = {}
    if format == "plain":
        options["overwrite"] = overwrite
    if format in ("dicom-sr", "gsps"):
        options["images_folder"] = study
    if geometry is not None:
        options["geometry"] = geometry
    if parquet:
        options["ending"] = "parquet"
    with print_warnings():
        written = write_marks(read_folder(study), out, format, **options)
    if json:
        print(json_text.dumps({"files": [str(path) for path in written]}))
        return
    from rich.console import Console

    for path in written:
        Console().print(f"wrote {path}", soft_wrap=True, highlight=False, markup=False)
