"""Find the image files that a command works on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overread.errors import TableError, UsageError

__all__ = ["ImageFile", "find_image", "list_images", "parse_spacing"]


@dataclass(frozen=True)
class ImageFile:
    """An image of a study: its id, its file, and the size of a pixel where the study states it."""

    image_id: str
    path: Path
    mm_per_px: tuple[float, float] | None


def list_images(folder: Path, *, mm_per_px: float | tuple[float, float] | None = None) -> list[ImageFile]:
    """List the images of a study folder, or the image files of a folder without a table of images.

    Parameters
    ----------
    folder
        With images.csv or images.parquet: its rows. Else each image file, also in folders within it (`image_files`),
        with the id that `overread init` would give it.
    mm_per_px
        Size of a pixel, or its width and height, for images whose table states none.

    Raises
    ------
    UsageError
        If there is no such folder, or no image file in it.
    TableError
        If the table of images has no column path, or a path is empty.
    """
    from overread.files.atomic import no_folder
    from overread.images.files import image_files
    from overread.marks.file_names import ids_of_files
    from overread.tables.table_files import read_table

    if not folder.is_dir():
        raise UsageError(no_folder(folder))
    given = (mm_per_px, mm_per_px) if isinstance(mm_per_px, float | int) else mm_per_px
    for name in ("images.csv", "images.parquet"):
        if (folder / name).is_file():
            table = read_table(folder / name, "images")
            if "path" not in table:
                raise TableError(
                    f"{folder / name}: it has no column path, which says where an image's file is"
                )
            return [image_of_row(folder, name, row, given) for row in table.to_dict(orient="records")]
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder}: no image in this folder")
    ids = ids_of_files([path.relative_to(folder).as_posix() for path in files])
    return [ImageFile(image_id, path, given) for image_id, path in zip(ids, files, strict=True)]


def find_image(named: Path, run: Path, *, mm_per_px: tuple[float, float] | None = None) -> ImageFile:
    """Find an image by its file, or by any name that it goes by in the study of a run.

    Parameters
    ----------
    named
        A file, or the id, file name or path of an image of the study.
    run
        Folder of the run in ``STUDY/runs``, or a file in it.
    mm_per_px
        Size of a pixel where neither the file nor the study states it.
    """
    from overread.marks.file_names import ImageNames, without_ending

    folder = run if run.is_dir() else run.parent
    study = folder.resolve().parents[1]
    if not named.exists() and folder.resolve().parent.name == "runs" and (study / "images.csv").is_file():
        images = {image.image_id: image for image in list_images(study, mm_per_px=mm_per_px)}
        paths = {image_id: image.path.relative_to(study).as_posix() for image_id, image in images.items()}
        image_id = ImageNames(paths, str(study / "images.csv")).find(named.as_posix())
        if image_id is not None:
            return images[image_id]
    return ImageFile(without_ending(named.name), named, mm_per_px)


def image_of_row(
    folder: Path, table: str, row: dict[Any, Any], given: tuple[float, float] | None
) -> ImageFile:
    """Image of one row of the table."""
    if not row["path"]:
        raise TableError(f"{folder / table}: image {row['image_id']!r} has no path")
    spacing = (row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan))
    stated = not any(math.isnan(length) for length in spacing)
    return ImageFile(row["image_id"], folder / row["path"], spacing if stated else given)


def parse_spacing(text: str | None) -> tuple[float, float] | None:
    """Read the width and height of a pixel from "X" or "X,Y"; "px" is 1: lengths are pixels.

    Raises
    ------
    UsageError
        If the text is neither one nor two numbers above 0.
    """
    if text is None:
        return None
    if text == "px":
        return 1.0, 1.0
    try:
        lengths = [float(part) for part in text.split(",")]
    except ValueError:
        lengths = []
    if len(lengths) not in (1, 2) or not all(0 < length < math.inf for length in lengths):
        raise UsageError(
            f"--mm-per-px {text!r}: give one positive number such as 0.143, or two as 0.14,0.15; or px"
        )
    return lengths[0], lengths[-1]
