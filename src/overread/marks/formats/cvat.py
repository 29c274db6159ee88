"""CVAT for images 1.1: XML, one file for each reader.

Pixels, two decimals; (0, 0) is the image's top-left corner and pixel (0, 0) covers [0, 1] x [0, 1]. ``rotation`` is in
degrees, clockwise on screen, about the centre, and is left out when it is 0. The file does not state the reader, so the
user names them. An ``<image>`` without shapes is a reading without marks. Boxes and polygons are imported only on
request; masks, points and lines never. Skipped shapes are counted, and an image with nothing else is not a reading
without marks. A shape's attribute ``confidence`` or ``certainty`` is the mark's confidence, on its scale.
"""

from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from overread.errors import FormatError, UsageError
from overread.marks._ellipse import DrawnEllipse, ellipse_of_outline
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats._readers import attribute, local_name, number_in, read_xml


def read(
    path: Path,
    *,
    reader: str,
    spacings: Spacings | None = None,
    boxes: bool = False,
    polygons: str | None = None,
) -> MarkSet:
    """Read one reader's export.

    Parameters
    ----------
    path : Path
        ``annotations.xml`` of a CVAT job or task.
    reader : str
        The reader.
    spacings : Spacings
        Millimetres per pixel, which the export does not state.
    boxes : bool
        Whether to import boxes as their inscribed ellipses.
    polygons : {"ellipse"}
        Whether to import polygons, as the ellipses with the same moments.
    """
    if polygons not in (None, "ellipse"):
        raise UsageError(f"--polygons {polygons}: give ellipse, or omit the option to skip polygons")
    root = read_xml(path, ["annotations"], "CVAT for images")
    if any(local_name(child) == "track" for child in root):
        raise FormatError(f"{path}: contains tracks (CVAT for video). Export it as CVAT for images 1.1.")
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    taken = {"ellipse", *(["box"] if boxes else []), *(["polygon"] if polygons else [])}
    for image in root:
        if local_name(image) == "image":
            _read_image(builder, image, reader, taken)
    return builder.build()


def _read_image(builder: MarkSetBuilder, image: Element, reader: str, taken: set[str]) -> None:
    """Add an image, its reading and its shapes."""
    name = attribute(image, "name", builder.source)
    place = f"image {name!r}"
    where = f"{builder.source}, {place}"
    width, height = (number_in(attribute(image, key, where), key, where) for key in ("width", "height"))
    if name in builder.images:
        raise FormatError(
            f"{where}: occurs twice (if two tasks have the same file name, export them separately)"
        )
    shapes = {number: shape for number, shape in enumerate(image) if local_name(shape) != "tag"}
    others = [kind for kind in map(local_name, shapes.values()) if kind not in taken]
    if builder.leave_out(others, name, reader, all_shapes=len(shapes)):
        return
    builder.add_image(name, path=name, width=width, height=height)
    builder.add_reading(name, reader)
    for number, shape in shapes.items():
        if local_name(shape) in taken:
            said = {
                one.get("name", ""): (one.text or "").strip()
                for one in shape
                if local_name(one) == "attribute"
            }
            builder.add_mark(
                name,
                reader,
                f"{reader}/{number}",
                **_ellipse_of(shape, f"{where}, shape '{reader}/{number}'")._asdict(),
                label=shape.get("label", ""),
                confidence=builder.confidence_in(said),
                place=place,
            )


def _ellipse_of(shape: Element, where: str) -> DrawnEllipse:
    """Return an ellipse, the inscribed one of a box, or that of the moments of a polygon."""

    def number(name: str) -> float:
        return number_in(attribute(shape, name, where), name, where)

    angle = number_in(shape.get("rotation", "0"), "rotation", where)
    match local_name(shape):
        case "ellipse":
            return DrawnEllipse((number("cx"), number("cy")), (number("rx"), number("ry")), angle)
        case "box":
            sides = map(number, ("xtl", "ytl", "xbr", "ybr"))
            return DrawnEllipse.fill_box(*sides)._replace(angle_deg=angle)
    return ellipse_of_outline(_outline_of(attribute(shape, "points", where), where))


def _outline_of(text: str, where: str) -> NDArray[np.float64]:
    """Points of ``x,y;x,y;...``."""
    pairs = [part.split(",") for part in text.split(";")]
    if any(len(pair) != 2 for pair in pairs):
        raise FormatError(f"{where}: the points are not of the form x,y;x,y;...")
    return np.array([[number_in(cell, "points", where) for cell in pair] for pair in pairs])
