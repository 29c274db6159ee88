"""``overread export``: a study's marks go back to an annotation tool.

A folder that a fresh Label Studio takes as it is: labelling interface, pictures, and tasks with their addresses.
"""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._terminal import print_json
from overread._text import shell_word
from overread.errors import TableError, UsageError
from overread.marks import FORMATS, read_folder, write_marks

if TYPE_CHECKING:
    from overread.marks import MarkSet


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
    from overread._commands import print_plain, print_warnings

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


LOCAL_FILES = "/data/local-files/?d="


def write_label_studio_folder(
    mark_set: MarkSet, study: Path, out: Path, members: dict[str, str] | None
) -> list[Path]:
    """Write ``config.xml``, ``images/*.png`` and ``tasks.json``; return the files.

    Parameters
    ----------
    mark_set
        Marks, readings and images.
    study
        Folder that the images' paths are relative to.
    out
        Folder to write; the server's document root is the folder that it stands in.
    members
        Email or number of the member that each reader is.
    """
    from urllib.parse import quote

    from overread.files import write_atomically
    from overread.marks import MarkSet, labelling_config, write_marks

    pictures = _name_pictures(mark_set.images["image_id"].tolist())
    written = [
        _write_picture(mark_set, study, image, out / "images" / name) for image, name in pictures.items()
    ]
    labels = sorted({label for label in mark_set.marks.get("label", []) if label})
    config = labelling_config(labels, confidence="confidence" in mark_set.marks)
    written.append(write_atomically(out / "config.xml", config.encode()))
    images = mark_set.images.assign(path=[quote(f"images/{pictures[image]}") for image in pictures]).astype(
        {"path": "str"}
    )
    url = f"{LOCAL_FILES}{quote(out.resolve().name)}/{{path}}"
    tasks = MarkSet(mark_set.marks, mark_set.readings, images)
    return [*written, *write_marks(tasks, out / "tasks.json", "label-studio", url=url, members=members)]


def _name_pictures(images: list[str]) -> dict[str, str]:
    """Name of each image's picture; slashes of an id become underscores, and no two are equal."""
    names: dict[str, str] = {}
    for image in images:
        name, number = image.replace("/", "_"), 1
        while f"{name}.png" in names.values():
            number += 1
            name = f"{image.replace('/', '_')}-{number}"
        names[image] = f"{name}.png"
    return names


def _write_picture(mark_set: MarkSet, study: Path, image_id: str, target: Path) -> Path:
    """Write an image as it is shown, in its own pixels."""
    import io

    from PIL import Image

    from overread.files import write_atomically
    from overread.images import display_image

    row = mark_set.images[mark_set.images["image_id"] == image_id].iloc[0]
    if not row.get("path"):
        raise TableError(
            f"images: image {image_id!r} has no path (overread init {shell_word(study)} finds the files)"
        )
    buffer = io.BytesIO()
    Image.fromarray(display_image(study / row["path"])).save(buffer, format="PNG")
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(target, buffer.getvalue())


def parse_members(text: str | None) -> dict[str, str] | None:
    """Members by reader of READER=EMAIL,..."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(reader.strip() and email.strip() for reader, _, email in pairs):
        raise UsageError(f"--members {text!r}: write READER=EMAIL,READER=EMAIL")
    return {reader.strip(): email.strip() for reader, _, email in pairs}


def print_steps(out: Path) -> None:
    """Say what to do in Label Studio."""
    from overread._commands import print_plain

    root = out.resolve().parent
    print_plain(
        f"""Steps in Label Studio:
1. Start it with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={root}
2. Let every reader sign up, with the email that --members names.
3. Make a project; Settings, Labelling interface, Code: paste {out / "config.xml"}
4. Settings, Cloud storage, Add source storage, Local files: {out.resolve() / "images"} (do not sync it).
5. Import {out / "tasks.json"}
Back: export as JSON, then overread import export.json --image-key image_id --out STUDY --overwrite"""
    )
