"""CVAT for images 1.1: XML, one file for each reader.

Pixels, two decimals; (0, 0) is the image's top-left corner and pixel (0, 0) covers [0, 1] x [0, 1].
``rotation`` is in degrees, clockwise on screen, about the centre, and is left out when it is 0. The file does
not tell who drew, so the reader is the user's to name. An ``<image>`` without shapes is a reading without
marks. Boxes count only where they are asked for; polygons, masks and points never do.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from overread.errors import FormatError
from overread.marks.formats.building import MarkSetBuilder, Spacings
from overread.marks.formats.xml_file import attribute, local_name, number_in, read_xml
from overread.marks.mark_set import MarkSet

__all__ = ["read"]


def read(path: Path, *, reader: str, spacings: Spacings | None = None, boxes: bool = False) -> MarkSet:
    """Read one reader's export.

    Parameters
    ----------
    path : Path
        ``annotations.xml`` of a CVAT job or task.
    reader : str
        Who drew it.
    spacings : Spacings
        Millimetres per pixel, which the export does not tell.
    boxes : bool
        Whether boxes count as marks, as the ellipses that fill them.
    """
    root = read_xml(path)
    if local_name(root) != "annotations":
        raise FormatError(
            f"{path}: the root is <{local_name(root)}>, not <annotations>: no CVAT for images file"
        )
    if any(local_name(child) == "track" for child in root):
        raise FormatError(f"{path}: holds tracks (CVAT for video); export it as CVAT for images 1.1")
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    for image in root:
        if local_name(image) == "image":
            read_image(builder, image, reader, boxes=boxes)
    return builder.build()


def read_image(builder: MarkSetBuilder, image: Element, reader: str, *, boxes: bool) -> None:
    """Note an image, its reading and its shapes."""
    name = attribute(image, "name", builder.source)
    place = f"image {name!r}"
    where = f"{builder.source}, {place}"
    width, height = (number_in(attribute(image, key, where), key, where) for key in ("width", "height"))
    if name in builder.images:
        raise FormatError(f"{where}: is there twice (two tasks with one file name? export them one by one)")
    builder.add_image(name, path=name, width=width, height=height)
    builder.add_reading(name, reader)
    for number, shape in enumerate(image):
        if local_name(shape) == "ellipse" or (boxes and local_name(shape) == "box"):
            add_shape(builder, name, reader, f"{reader}/{number}", shape)


def add_shape(builder: MarkSetBuilder, image_id: str, reader: str, mark_id: str, shape: Element) -> None:
    """Note an ellipse, or a box as the ellipse that fills it."""
    where = f"{builder.source}, image {image_id!r}, shape {mark_id!r}"

    def number(name: str) -> float:
        return number_in(attribute(shape, name, where), name, where)

    if local_name(shape) == "ellipse":
        centre, semi_axes = (number("cx"), number("cy")), (number("rx"), number("ry"))
    else:
        left, top, right, bottom = (number(name) for name in ("xtl", "ytl", "xbr", "ybr"))
        centre, semi_axes = ((left + right) / 2, (top + bottom) / 2), ((right - left) / 2, (bottom - top) / 2)
    builder.add_mark(
        image_id,
        reader,
        mark_id,
        centre=centre,
        semi_axes=semi_axes,
        angle_deg=number_in(shape.get("rotation", "0"), "rotation", where),
        label=shape.get("label", ""),
        place=f"image {image_id!r}",
    )
