"""VIA (VGG Image Annotator 2): a JSON project or its exported annotations; ellipses in and out.

Pixels; (0, 0) is the image's top-left corner and pixel (0, 0) covers [0, 1] x [0, 1]. An ellipse is ``cx, cy, rx, ry``
and ``theta`` in radians, clockwise on screen, as the canvas draws it. A circle is an ellipse; rectangles and polygons
are imported only on request, points and lines never; skipped shapes are counted. The file does not state the reader: it
is by one reader. Every image of the file is a reading. A region's attribute ``confidence`` or ``certainty`` is the
mark's confidence, on its scale; the label is the first text of the others.
"""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.errors import FormatError, UsageError
from overread.files import write_atomically
from overread.marks._ellipse import DrawnEllipse, ellipse_of_outline
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import (
    MarkSetBuilder,
    Spacings,
    ellipses_in_px,
    is_confidence,
    records,
)
from overread.marks.formats._readers import JsonNode, read_node

METADATA = "_via_img_metadata"
NAMES = {"rect": "box", "polygon": "polygon", "polyline": "line", "point": "point"}


def read(
    path: Path,
    *,
    reader: str,
    spacings: Spacings | None = None,
    boxes: bool = False,
    polygons: str | None = None,
) -> MarkSet:
    """Read one reader's file.

    Parameters
    ----------
    path : Path
        A project (``via_project.json``) or annotations exported as JSON.
    reader : str
        The reader.
    spacings : Spacings
        Millimetres per pixel.
    boxes : bool
        Whether to import rectangles as their inscribed ellipses.
    polygons : {"ellipse"}
        Whether to import polygons, as the ellipses with the same moments.
    """
    root = read_node(path)
    entries = root.get(METADATA) or root
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    for key in entries.mapping():
        _read_image(builder, entries[key], reader, boxes=boxes, polygons=polygons == "ellipse")
    return builder.build()


def _read_image(
    builder: MarkSetBuilder,
    entry: JsonNode,
    reader: str,
    *,
    boxes: bool,
    polygons: bool,
) -> None:
    """Add one image, its reading and its regions."""
    name = entry["filename"].identifier()
    regions = entry["regions"]
    members = (
        [regions[key] for key in regions.mapping()]
        if isinstance(regions.value, dict)
        else list(regions.items())
    )
    shapes = [
        (region, _shape_of(region["shape_attributes"], boxes=boxes, polygons=polygons)) for region in members
    ]
    others = [region["shape_attributes"]["name"].text() for region, shape in shapes if shape is None]
    kinds = [NAMES.get(kind, kind) for kind in others]
    if builder.leave_out(kinds, name, reader, all_shapes=len(shapes)):
        return
    builder.add_image(name, path=name)
    builder.add_reading(name, reader)
    for number, (region, shape) in enumerate(shapes):
        if shape is not None:
            said = attributes.mapping() if (attributes := region.get("region_attributes")) else {}
            texts = (
                text
                for key, text in said.items()
                if isinstance(text, str) and text and not is_confidence(key)
            )
            builder.add_mark(
                name,
                reader,
                f"{reader}/{number}",
                **shape._asdict(),
                label=next(texts, ""),
                confidence=builder.confidence_in(said),
                place=region.place,
            )


def _shape_of(shape: JsonNode, *, boxes: bool, polygons: bool) -> DrawnEllipse | None:
    """Ellipse of a region in pixels; None if its kind is skipped."""

    def number(name: str) -> float:
        return shape[name].number()

    kind = shape["name"].text()
    if kind == "ellipse":
        theta = shape.get("theta")
        turn = math.degrees(theta.number()) if theta else 0.0
        return DrawnEllipse((number("cx"), number("cy")), (number("rx"), number("ry")), turn)
    if kind == "circle":
        return DrawnEllipse((number("cx"), number("cy")), (number("r"), number("r")))
    if kind == "rect" and boxes:
        a, b = number("width") / 2, number("height") / 2
        return DrawnEllipse((number("x") + a, number("y") + b), (a, b))
    if kind == "polygon" and polygons:
        across, down = (
            [one.number() for one in shape[name].items()] for name in ("all_points_x", "all_points_y")
        )
        if len(across) != len(down):
            raise FormatError(f"{shape.place}: {len(across)} x and {len(down)} y")
        return ellipse_of_outline(np.column_stack([across, down]))
    return None


def write(mark_set: MarkSet, path: Path, *, reader: str | None = None) -> list[Path]:
    """Write one reader's marks as a project that VIA opens; images are named by their files.

    Parameters
    ----------
    mark_set : MarkSet
        Marks, readings and images with their spacings.
    path : Path
        The JSON file.
    reader : str
        The reader whose marks are written; needed if there are several.
    """
    readers = list(dict.fromkeys(mark_set.readings["reader_id"]))
    if reader is None and len(readers) > 1:
        raise UsageError(f"via files hold one reader's marks. Choose one with --reader: {', '.join(readers)}")
    chosen = reader if reader is not None else next(iter(readers), "")
    if chosen not in readers:
        raise UsageError(f"--reader {chosen}: the readers are {', '.join(readers)}")
    images = {row["image_id"]: row for row in records(mark_set.images)}
    marks = dict(iter(mark_set.marks.groupby(["image_id", "reader_id"], sort=False)))
    entries = {}
    for image_id in mark_set.readings.loc[mark_set.readings["reader_id"] == chosen, "image_id"]:
        image = images.get(image_id, {"image_id": image_id})
        name = image.get("path") or image_id
        drawn = marks.get((image_id, chosen))
        regions = [] if drawn is None else [*_regions_of(drawn, image)]
        entries[f"{name}-1"] = {"filename": name, "size": -1, "regions": regions, "file_attributes": {}}
    attributes = ("label", *(["confidence"] if "confidence" in mark_set.marks else []))
    project = {
        "_via_settings": {"core": {"default_filepath": ""}, "project": {"name": chosen}},
        METADATA: entries,
        "_via_attributes": {
            "region": {name: {"type": "text", "default_value": ""} for name in attributes},
            "file": {},
        },
        "_via_data_format_version": "2.0.10",
        "_via_image_id_list": list(entries),
    }
    return [write_atomically(path, json.dumps(project, ensure_ascii=False, allow_nan=False).encode())]


def _regions_of(marks: pd.DataFrame, image: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Regions of one image."""
    for mark, ellipse in ellipses_in_px(marks, image, "pixels"):
        shape = dict(zip(("cx", "cy", "rx", "ry", "theta"), ellipse, strict=True))
        said = {"label": mark["label"]} if mark.get("label") else {}
        if not math.isnan(sure := float(mark.get("confidence", math.nan))):
            said["confidence"] = repr(sure)  # VIA stores typed values as text
        yield {
            "shape_attributes": {"name": "ellipse", **shape, "theta": math.radians(shape["theta"])},
            "region_attributes": said,
        }
