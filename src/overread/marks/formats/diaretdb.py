"""DIARETDB1's XML: one file for each image and expert; circles, ellipses with an angle, polygons.

Pixels; (0, 0) is the image's top-left corner and pixel (0, 0) covers [0, 1] x [0, 1]. ``<angle>`` is in degrees,
counterclockwise on screen (the sign is not documented; it follows from pairs of an ellipse and another expert's
polygon). A polygon becomes the ellipse with the same moments. The reader is the two digits before ``_plain`` in the
file's name, or is given by the user. A file without markings is a reading without marks. The confidence High is 1,
Medium 0.75 (more than a half), Low 0.25 (less than a half).
"""

import re
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from overread.errors import FormatError
from overread.marks._ellipse import DrawnEllipse, ellipse_of_outline
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats._readers import child_text, children, files_of, local_name, number_in, read_xml

FILE_NAME = re.compile(r"(?P<image>.+)_(?P<reader>[0-9]{2})_plain$")
CONFIDENCES = {"high": 1.0, "medium": 0.75, "low": 0.25, "": float("nan")}
REGIONS = ("circleregion", "ellipseregion", "polygonregion")


def read(path: Path, *, spacings: Spacings | None = None, reader: str | None = None) -> MarkSet:
    """Read a file, or a folder of them.

    Parameters
    ----------
    path : Path
        An XML file, or a folder of them.
    spacings : Spacings
        Millimetres per pixel.
    reader : str
        The reader, if the file name does not contain it.
    """
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    for file in files_of(path, ".xml"):
        # Of repeated readings, as in the original data, the plain file is the one without a DTD.
        if file == path or not file.with_name(f"{file.stem}_plain.xml").exists():
            _read_file(builder, file, reader)
    return builder.build()


def _read_file(builder: MarkSetBuilder, file: Path, reader: str | None) -> None:
    """Add one expert's reading of one image."""
    root = read_xml(file, ["imgannotooldata"], "DIARETDB1")
    markings = [element for element in root.iter() if local_name(element) == "marking"]
    parts = FILE_NAME.match(file.stem)
    who = reader or (str(int(parts["reader"])) if parts else "")
    if not who:
        raise FormatError(
            f"{file}: the name does not contain the expert (as in image001_01_plain.xml). Give --reader."
        )
    image_id = child_text(root, "imagename") or (parts["image"] if parts else file.stem)
    if image_id not in builder.images:
        builder.add_image(image_id, path=image_id)
    builder.add_reading(image_id, who)
    for number, marking in enumerate(markings, start=1):
        place = f"{file}, marking {number}"
        region = next((one for one in marking.iter() if local_name(one) in REGIONS), None)
        if region is None:
            raise FormatError(f"{place}: no circle, ellipse or polygon")
        confidence = (child_text(marking, "confidencelevel") or "").lower()
        if confidence not in CONFIDENCES:
            raise FormatError(f"{place}: the confidence {confidence!r} is not High, Medium or Low")
        builder.add_mark(
            image_id,
            who,
            f"{who}/{number}",
            **_shape_of(region, place)._asdict(),
            label=child_text(marking, "markingtype") or "",
            confidence=CONFIDENCES[confidence],
            place=place,
        )


def _shape_of(region: Element, place: str) -> DrawnEllipse:
    """Ellipse of a region."""
    if local_name(region) == "polygonregion":
        points = [_point_of(one, place) for one in children(region, "coords2d")]
        return ellipse_of_outline(np.array(points, float).reshape(-1, 2))
    centroid = next((one for one in region.iter() if local_name(one) == "coords2d"), None)
    if centroid is None:
        raise FormatError(f"{place}: no centre")
    radii = [number_in((one.text or "").strip(), "radius", place) for one in children(region, "radius")]
    if len(radii) not in (1, 2):
        raise FormatError(f"{place}: {len(radii)} radii")
    angle = child_text(region, "angle") or child_text(region, "rotangle") or "0"
    return DrawnEllipse(_point_of(centroid, place), (radii[0], radii[-1]), -number_in(angle, "angle", place))


def _point_of(element: Element, place: str) -> tuple[float, float]:
    """Point of ``<coords2d>x,y</coords2d>``."""
    parts = (element.text or "").split(",")
    if len(parts) != 2:
        raise FormatError(f"{place}: coords2d {element.text!r} is not a pair x,y")
    x, y = (number_in(part.strip(), "coords2d", place) for part in parts)
    return x, y
