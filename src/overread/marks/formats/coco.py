"""COCO: boxes ``[x, y, width, height]`` in pixels from the image's top-left corner.

Pixel (0, 0) covers [0, 1] x [0, 1]. A box becomes the ellipse that fills it. COCO has no reader: either a key
of each annotation names it (``rad_id``, ``annotator``), or the whole file is one reader's. COCO has no
readings either: where the file is one reader's, he read every image that it lists; otherwise the images need
a key that lists their readers.
"""

from __future__ import annotations

import math
from pathlib import Path

from overread.errors import FormatError, UsageError
from overread.marks.formats.building import MarkSetBuilder, Spacings
from overread.marks.formats.json_file import JsonNode, read_node
from overread.marks.mark_set import MarkSet
from overread.marks.readings import WHO_READ
from overread.tables.cell_types import quote_cell

__all__ = ["read"]


def read(
    path: Path,
    *,
    spacings: Spacings | None = None,
    reader: str | None = None,
    reader_key: str | None = None,
    readings_key: str | None = None,
    derive_readings: bool = False,
) -> MarkSet:
    """Read a COCO file.

    Parameters
    ----------
    path : Path
        The JSON file, with ``images``, ``annotations`` and ``categories``.
    spacings : Spacings
        Millimetres per pixel.
    reader : str
        Whose file it is, where it is one reader's.
    reader_key, readings_key : str
        Otherwise: key of an annotation that names its reader, and key of an image that lists all who read it.
    derive_readings : bool
        Without ``readings_key``, take each reader to have read just the images that he marked.
    """
    if (reader is None) == (reader_key is None):
        raise UsageError("COCO tells no reader: name the reader of the file, or the key that names him")
    if reader_key is not None and readings_key is None and not derive_readings:
        raise UsageError(
            f"{path}: {WHO_READ}; here also --readings-key, the key of an image that lists its readers"
        )
    root = read_node(path)
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    names = {
        node["id"].identifier(): node["name"].text() for node in (root.get("categories") or EMPTY).items()
    }
    files: dict[str, str] = {}
    for image in root["images"].items():
        number = image["id"].identifier()
        if number in files:
            raise FormatError(f"{image.place}.id: {quote_cell(number)} is there twice")
        files[number] = image["file_name"].identifier()
        read_image(builder, image, [reader] if reader else readers_of(image, readings_key))
    for annotation in root["annotations"].items():
        read_annotation(
            builder,
            annotation,
            files,
            names,
            reader,
            reader_key,
            derive_readings=derive_readings and readings_key is None,
        )
    return builder.build()


EMPTY = JsonNode([], "")


def readers_of(image: JsonNode, key: str | None) -> list[str]:
    """Readers that an image lists, none without the key."""
    if key is None:
        return []
    return [node.identifier() for node in image[key].items()]


def read_image(builder: MarkSetBuilder, image: JsonNode, readers: list[str]) -> None:
    """Note an image under its file name, and its readings."""
    name = image["file_name"].identifier()
    sizes = [node.number() if (node := image.get(key)) else math.nan for key in ("width", "height")]
    if name in builder.images:
        raise FormatError(f"{image.place}.file_name: {quote_cell(name)} is there twice")
    builder.add_image(name, path=name, width=sizes[0], height=sizes[1])
    for reader in readers:
        builder.add_reading(name, reader)


def read_annotation(
    builder: MarkSetBuilder,
    annotation: JsonNode,
    files: dict[str, str],
    names: dict[str, str],
    reader: str | None,
    reader_key: str | None,
    *,
    derive_readings: bool,
) -> None:
    """Note a box as the ellipse that fills it."""
    image = annotation["image_id"].identifier()
    if image not in files:
        raise FormatError(f"{annotation.place}.image_id: no image {quote_cell(image)} in this file")
    box = [node.number() for node in annotation["bbox"].items()]
    if len(box) != 4:
        raise FormatError(f"{annotation.place}.bbox: {len(box)} numbers instead of x, y, width, height")
    x, y, width, height = box
    category = annotation.get("category_id")
    number = annotation["id"].identifier()
    who = reader or annotation[str(reader_key)].identifier()
    if derive_readings:
        builder.add_reading(files[image], who)
    builder.add_mark(
        files[image],
        who,
        f"{reader}/{number}" if reader else number,
        centre=(x + width / 2, y + height / 2),
        semi_axes=(width / 2, height / 2),
        label=names.get(category.identifier(), "") if category else "",
        confidence=score.number() if (score := annotation.get("score")) else math.nan,
        place=annotation.place.rpartition(": ")[2],
    )
