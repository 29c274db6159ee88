"""``overread export``: write a study's marks for an annotation tool.

For Label Studio it writes a folder with the labelling interface, the pictures and the tasks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._commands import Flag, OutputPath, emit, print_plain
from overread._text import shell_word
from overread.errors import TableError, UsageError, require_extra
from overread.marks import FORMATS, read_folder, write_marks

if TYPE_CHECKING:
    from overread.marks import MarkSet


FORMAT_HELP = ", ".join(f"{entry.name} ({entry.description})" for entry in FORMATS.values() if entry.writer)


def export_marks(
    study: Path,
    *,
    output: OutputPath,
    format: Annotated[str, Parameter(help=FORMAT_HELP)] = "label-studio",
    geometry: str | None = None,
    members: str | None = None,
    reader: str | None = None,
    parquet: Flag = False,
    overwrite: Flag = False,
    json: Flag = False,
) -> None:
    """Write a study's marks and readings in another tool's format.

    Parameters
    ----------
    study
        Folder with marks, readings and images tables.
    output
        label-studio: a .json file for tasks only, or a folder for tasks, pictures and the labelling
        interface. via: a file. plain, dicom-sr and gsps: a folder.
    format
        A format in `overread.marks.FORMATS` that can be written.
    geometry
        dicom-sr: ellipse (lossless, default) or polyline (closed, 64 points).
    members
        label-studio: READER=EMAIL,...: the Label Studio account of each reader.
    reader
        via: the reader whose marks are written.
    parquet
        plain: write Parquet instead of CSV.
    overwrite
        Replace existing files.
    json
        Print the names of the files as JSON.
    """
    from overread._commands import print_warnings

    bundle = format == "label-studio" and output.suffix.lower() != ".json"
    if not overwrite and (output.is_file() or (bundle and output.is_dir() and any(output.iterdir()))):
        raise UsageError(f"{output} already exists. Choose another name, or give --overwrite.")
    given = {
        "overwrite": overwrite if format == "plain" else None,
        "images_folder": study if format in ("dicom-sr", "gsps") else None,
        "geometry": geometry,
        "reader": reader,
        "members": _parse_members(members),
        "ending": "parquet" if parquet else None,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if bundle and options.keys() - {"members"}:
        raise UsageError(
            f"format {format} has no option {min(options.keys() - {'members'})}; it has: members"
        )
    if format in ("dicom-sr", "gsps"):
        require_extra("pacs", f"overread export --format {format}")
    with print_warnings():
        marks = read_folder(study)
        if bundle:
            written = _write_label_studio_folder(marks, study, output, options.get("members"))
        else:
            written = write_marks(marks, output, format, **options)
    emit(
        {"files": [str(path) for path in written]},
        lambda _: _show(written, output if bundle else None),
        as_json=json,
    )


LOCAL_FILES = "/data/local-files/?d="


def _write_label_studio_folder(
    mark_set: MarkSet, study: Path, out: Path, members: dict[str, str] | None
) -> list[Path]:
    """Write ``config.xml``, ``images/*.png`` and ``tasks.json``; return the files.

    Paths of images are relative to `study`. The server's document root is the parent folder of `out`.
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
    """Name each image's picture; slashes of an id become underscores, and names are unique."""
    names: dict[str, str] = {}
    for image in images:
        name, number = image.replace("/", "_"), 1
        while f"{name}.png" in names.values():
            number += 1
            name = f"{image.replace('/', '_')}-{number}"
        names[image] = f"{name}.png"
    return names


def _write_picture(mark_set: MarkSet, study: Path, image_id: str, target: Path) -> Path:
    """Write an image as it is displayed, at its full size."""
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


def _parse_members(text: str | None) -> dict[str, str] | None:
    """Read the account of each reader from READER=EMAIL,..."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(reader.strip() and email.strip() for reader, _, email in pairs):
        raise UsageError(f"--members {text!r}: write READER=EMAIL,READER=EMAIL")
    return {reader.strip(): email.strip() for reader, _, email in pairs}


def _show(written: list[Path], bundle: Path | None) -> None:
    """List the files; for a Label Studio folder count the pictures and print the next steps."""
    shown = [path for path in written if bundle is None or path.suffix != ".png"]
    for path in shown:
        print_plain(f"wrote {path}")
    if bundle is not None:
        print_plain(f"wrote {len(written) - len(shown)} pictures")
        print_plain(
            f"""Steps in Label Studio:
1. Start it with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT={bundle.resolve().parent}
2. Let every reader sign up with the email given in --members.
3. Make a project. Settings, Labelling interface, Code: paste {bundle / "config.xml"}
4. Settings, Cloud storage, Add source storage, Local files: {bundle.resolve() / "images"} (do not sync it).
5. Import {bundle / "tasks.json"}
To get the marks back, export as JSON, then run: overread import export.json --image-key image_id --output STUDY --overwrite"""  # noqa: E501
        )
