"""Label Studio: JSON and JSON-MIN in, JSON out.

Lengths are percent: x and radiusX of the image's width, y and radiusY of its height; (x, y) is the ellipse's
centre (so the editor draws it, though its documentation says "top left corner"). 0 and 100 are the image's
edges, so pixel (0, 0) covers [0, 1] x [0, 1] px as in our own convention. ``rotation`` is in degrees,
clockwise on screen, in square pixels of the screen: percent are turned into pixels before anything is
rotated. ``completed_by`` is the reader. An annotation without regions is a reading without marks; a cancelled
one is no reading. Regions of an image that was rotated in the editor are refused. A rectangle becomes its
inscribed ellipse only where it is asked for.
"""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from overread.errors import DataWarning, FormatError, TableError
from overread.files.atomic import write_atomically
from overread.marks.ellipse import ELLIPSE_COLUMNS
from overread.marks.formats.building import MarkSetBuilder, Spacings
from overread.marks.formats.json_file import JsonNode, read_node
from overread.marks.mark_set import MarkSet
from overread.marks.pixels import rescale_ellipses
from overread.tables.cell_types import quote_cell

__all__ = ["read", "write"]

NOBODY = "tasks without annotations"
CANCELLED = "cancelled annotations"
OTHER_SHAPE = "shapes that are not ellipses (rectangles count with --boxes)"


def read(
    path: Path,
    *,
    spacings: Spacings | None = None,
    image_key: str = "image",
    boxes: bool = False,
) -> MarkSet:
    """Read an export.

    Parameters
    ----------
    path : Path
        The exported file, JSON or JSON-MIN.
    spacings : Spacings
        Millimetres per pixel, which the export does not tell.
    image_key : str
        Member of a task's data whose value becomes the image id, exactly as it stands.
    boxes : bool
        Whether rectangles count as marks, as the ellipses that fill them.
    """
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    left_out: Counter[str] = Counter()
    for task in read_node(path).items():
        if "annotations" in task:
            read_task(builder, task, image_key, left_out, boxes=boxes)
        elif "annotation_id" in task:
            read_minimal_task(builder, task, image_key, left_out, boxes=boxes)
        else:
            raise FormatError(f"{task.place}: neither a task with annotations nor a JSON-MIN record")
    if left_out:
        listed = ", ".join(f"{count} {what}" for what, count in left_out.items())
        warnings.warn(f"{path}: left out: {listed}", DataWarning, stacklevel=2)
    return builder.build()


def read_task(
    builder: MarkSetBuilder, task: JsonNode, image_key: str, left_out: Counter[str], *, boxes: bool
) -> None:
    """Read a task with all its annotations; an image that nobody read is left out."""
    data = task["data"]
    image_id = data[image_key].identifier()
    image_path = data.get("image")
    annotations = list(task["annotations"].items())
    left_out.update([NOBODY] * (not annotations))
    for annotation in annotations:
        cancelled = annotation.get("was_cancelled")
        if cancelled is not None and cancelled.value is True:
            left_out.update([CANCELLED])
            continue
        reader = reader_of(annotation["completed_by"])
        regions = [(region["value"], region) for region in annotation["result"].items() if "value" in region]
        left_out.update(OTHER_SHAPE for value, _ in regions if is_other_shape(value, boxes=boxes))
        regions = [(value, region) for value, region in regions if is_region(value, boxes=boxes)]
        add_reading(builder, image_id, image_path, reader, regions, annotation["id"].identifier())


def read_minimal_task(
    builder: MarkSetBuilder, task: JsonNode, image_key: str, left_out: Counter[str], *, boxes: bool
) -> None:
    """Read a JSON-MIN record: one annotation, its regions in members named after the editor's tags."""
    image_path = task.get("image")
    regions = []
    for key, value in task.mapping().items():
        if isinstance(value, list):
            members = list(JsonNode(value, f"{task.place}.{key}").items())
            left_out.update(OTHER_SHAPE for member in members if is_other_shape(member, boxes=boxes))
            regions += [(member, member) for member in members if is_region(member, boxes=boxes)]
    annotation_id = task["annotation_id"].identifier()
    image_id = task[image_key].identifier()
    add_reading(builder, image_id, image_path, reader_of(task["annotator"]), regions, annotation_id)


def add_reading(
    builder: MarkSetBuilder,
    image_id: str,
    image_path: JsonNode | None,
    reader: str,
    regions: list[tuple[JsonNode, JsonNode]],
    annotation_id: str,
) -> None:
    """Note one annotation: a reading, with the size of its image where a region tells it, and its marks."""
    for _, region in regions:
        rotation = region.get("image_rotation")
        if rotation is not None and rotation.number() % 360 != 0:
            raise FormatError(
                f"{rotation.place}: the image was rotated in the editor (turn it back and export again)"
            )
    sizes = {(region["original_width"].number(), region["original_height"].number()) for _, region in regions}
    if len(sizes) > 1:
        raise FormatError(f"{builder.source}: image {quote_cell(image_id)} has two sizes in one annotation")
    note_image(builder, image_id, image_path.text() if image_path else "", next(iter(sizes), None))
    builder.add_reading(image_id, reader)
    for number, (value, region) in enumerate(regions):
        mark_id = free_mark_id(builder, image_id, annotation_id, region.get("id"), number)
        width, height = region["original_width"].number(), region["original_height"].number()
        add_region(builder, image_id, reader, mark_id, value, (width, height))


def free_mark_id(
    builder: MarkSetBuilder, image_id: str, annotation_id: str, named: JsonNode | None, number: int
) -> str:
    """Id of the region; prefixed where another annotation of the image has it too, or where it has none."""
    if named is None:
        return f"{annotation_id}/{number}"
    mark_id = named.identifier()
    taken = any(mark["mark_id"] == mark_id for mark in builder.marks_of(image_id))
    return f"{annotation_id}/{mark_id}" if taken else mark_id


def note_image(builder: MarkSetBuilder, image_id: str, path: str, size: tuple[float, float] | None) -> None:
    """Note an image; an annotation without regions does not tell its size, a later one may."""
    known = builder.images.get(image_id)
    if known is None:
        width, height = size or (math.nan, math.nan)
        builder.add_image(image_id, path=path, width=width, height=height)
    elif size is not None and math.isnan(known["width_px"]):
        known["width_px"], known["height_px"] = size
    elif size is not None:
        builder.add_image(image_id, path=path, width=size[0], height=size[1])


def is_region(value: JsonNode, *, boxes: bool) -> bool:
    """Whether a value holds an ellipse, or a rectangle where those count."""
    return "radiusX" in value or (boxes and "width" in value and "x" in value)


def is_other_shape(value: JsonNode, *, boxes: bool) -> bool:
    """Whether a value holds a shape that does not count: a rectangle, a polygon or a brush, but no choice or text."""
    shapes = ("x", "points", "rle", "vertices")
    return not is_region(value, boxes=boxes) and any(name in value for name in shapes)


def add_region(
    builder: MarkSetBuilder,
    image_id: str,
    reader: str,
    mark_id: str,
    value: JsonNode,
    size: tuple[float, float],
) -> None:
    """Turn percent into pixels and note the mark."""
    per_x, per_y = size[0] / 100.0, size[1] / 100.0
    turned = value.get("rotation")
    angle = turned.number() if turned else 0.0
    x, y = value["x"].number() * per_x, value["y"].number() * per_y
    if "radiusX" in value:
        semi_axes = (value["radiusX"].number() * per_x, value["radiusY"].number() * per_y)
        centre = (x, y)
    else:
        # A rectangle turns about its top-left corner, which (x, y) is.
        semi_axes = (value["width"].number() * per_x / 2, value["height"].number() * per_y / 2)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        centre = (
            x + semi_axes[0] * cos - semi_axes[1] * sin,
            y + semi_axes[0] * sin + semi_axes[1] * cos,
        )
    builder.add_mark(
        image_id,
        reader,
        mark_id,
        centre=centre,
        semi_axes=semi_axes,
        angle_deg=angle,
        label=label_of(value),
        place=value.place,
    )


def label_of(value: JsonNode) -> str:
    """First label of a region; a second one is refused, since a mark has one."""
    for key in ("ellipselabels", "rectanglelabels", "labels"):
        if key in value:
            labels = [label.text() for label in value[key].items()]
            if len(labels) > 1:
                raise FormatError(f"{value.place}.{key}: {len(labels)} labels on one region; a mark has one")
            return labels[0] if labels else ""
    return ""


def reader_of(node: JsonNode) -> str:
    """Reader as an id; where the export writes an object, its id."""
    return node["id"].identifier() if isinstance(node.value, dict) else node.identifier()


def write(mark_set: MarkSet, path: Path) -> list[Path]:
    """Write tasks with annotations that Label Studio imports and `read` reads back.

    Each image becomes a task, each reading an annotation, also one without marks. Sizes and spacings come
    from the images table. A mark's id becomes its region's id.
    """
    images = {row["image_id"]: row for row in records(mark_set.images)}
    marks = dict(tuple(mark_set.marks.groupby(["image_id", "reader_id"], sort=False)))
    tasks: dict[str, dict[str, Any]] = {}
    for number, reading in enumerate(records(mark_set.readings), start=1):
        image_id, reader_id = reading["image_id"], reading["reader_id"]
        row = images.get(image_id, {"image_id": image_id})
        data = {"image": row.get("path") or image_id, "image_id": image_id}
        task = tasks.setdefault(image_id, {"id": len(tasks) + 1, "data": data, "annotations": []})
        drawn = marks.get((image_id, reader_id))
        result = [] if drawn is None else list(regions_of(drawn, row))
        annotation = {
            "id": number,
            "completed_by": member(reader_id),
            "was_cancelled": False,
            "result": result,
        }
        task["annotations"].append(annotation)
    text = json.dumps(list(tasks.values()), ensure_ascii=False, indent=1, allow_nan=False)
    return [write_atomically(path, text.encode("utf-8"))]


def member(reader_id: str) -> int | dict[str, str]:
    """Reader as Label Studio names its members: by number, or by an object with an email."""
    if reader_id.isascii() and reader_id.isdigit() and str(int(reader_id)) == reader_id:
        return int(reader_id)
    return {"id": reader_id, "email": reader_id}


def records(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of a table as mappings."""
    for row in table.itertuples(index=False, name=None):
        yield dict(zip(table.columns, row, strict=True))


def regions_of(marks: pd.DataFrame, image: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Regions of one reading, in percent."""
    needed = ("mm_per_px_x", "mm_per_px_y", "width_px", "height_px")
    sx, sy, width, height = (float(image.get(name, math.nan)) for name in needed)
    if not all(math.isfinite(value) for value in (sx, sy, width, height)):
        image_id = quote_cell(image["image_id"])
        raise TableError(f"images: image {image_id}: percent need the columns {', '.join(needed)}")
    ellipses = rescale_ellipses(marks[list(ELLIPSE_COLUMNS)].to_numpy(np.float64), 1 / sx, 1 / sy)
    for mark, (x, y, a, b, angle) in zip(records(marks), ellipses.tolist(), strict=True):
        value: dict[str, Any] = {
            "x": x * 100 / width,
            "y": y * 100 / height,
            "radiusX": a * 100 / width,
            "radiusY": b * 100 / height,
            "rotation": angle,
            "ellipselabels": [mark["label"]] if mark.get("label") else [],
        }
        yield {
            "id": mark["mark_id"],
            "type": "ellipselabels",
            "from_name": "label",
            "to_name": "image",
            "original_width": round(width),
            "original_height": round(height),
            "image_rotation": 0,
            "value": value,
        }
