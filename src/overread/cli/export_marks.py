"""``overread export``: a study's marks go back to an annotation tool."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from overread.errors import UsageError
from overread.marks import FORMATS, read_folder, write_marks
from overread.screen import print_json

__all__ = ["export_marks"]

FORMAT_HELP = ", ".join(f"{entry.name} ({entry.description})" for entry in FORMATS.values() if entry.writer)


def export_marks(
    study: Path,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    format: Annotated[str, Parameter(help=FORMAT_HELP)] = "label-studio",
    geometry: str | None = None,
    members: str | None = None,
    reader: str | None = None,
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
        For label-studio a .json file of tasks, or a folder that gets tasks, pictures and the labelling interface;
        a file for via; a folder for plain, dicom-sr and gsps.
    format
        A name in `overread.marks.FORMATS` of one that can be written.
    geometry
        dicom-sr: ellipse (lossless, default) or polyline (closed, 64 points).
    members
        label-studio: READER=EMAIL,...: the member of Label Studio that each reader is.
    reader
        via: whose marks.
    parquet
        plain: write Parquet instead of CSV.
    overwrite
        Replace what is there already.
    json
        Print the files' names for machines.
    """
    from overread.cli.conventions import print_plain, print_warnings
    from overread.cli.label_studio_folder import parse_members, print_steps, write_label_studio_folder

    if out.is_file() and not overwrite:
        raise UsageError(f"{out} is there already; choose another name, or --overwrite")
    options: dict[str, Any] = {}
    if format == "plain":
        options["overwrite"] = overwrite
    if format in ("dicom-sr", "gsps"):
        options["images_folder"] = study
    if geometry is not None:
        options["geometry"] = geometry
    if reader is not None:
        options["reader"] = reader
    if members is not None:
        options["members"] = parse_members(members)
    if parquet:
        options["ending"] = "parquet"
    bundle = format == "label-studio" and out.suffix.lower() != ".json"
    if bundle and out.is_dir() and any(out.iterdir()) and not overwrite:
        raise UsageError(f"{out} is there already; choose another name, or --overwrite")
    strange = [name for name in options if name != "members"] if bundle else []
    if strange:
        raise UsageError(f"format {format} has no option {strange[0]}; it has: members")
    with print_warnings():
        if bundle:
            written = write_label_studio_folder(read_folder(study), study, out, options.get("members"))
        else:
            written = write_marks(read_folder(study), out, format, **options)
    if json:
        print_json(json_text.dumps({"files": [str(path) for path in written]}))
        return
    shown = [path for path in written if not bundle or path.suffix != ".png"]
    for path in shown:
        print_plain(f"wrote {path}")
    if bundle:
        print_plain(f"wrote {len(written) - len(shown)} pictures")
        print_steps(out)
