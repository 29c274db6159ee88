"""Label Studio: JSON and JSON-MIN in, JSON out.

Lengths are percent: x and radiusX of the image's width, y and radiusY of its height; (x, y) is the ellipse's centre (so
the editor draws it, though its documentation says "top left corner"). 0 and 100 are the image's edges, so pixel (0, 0)
covers [0, 1] x [0, 1] px as in Overread's convention. ``rotation`` is in degrees, clockwise on screen, in square pixels
of the screen: percent are turned into pixels before anything is rotated. ``completed_by`` is the reader. An annotation
without regions is a reading without marks; a cancelled one or a draft is not a reading. Regions of an image that was
rotated in the editor are refused; JSON-MIN does not record the rotation, so its regions are refused unless the user
states that none was rotated. A rectangle becomes its inscribed ellipse only on request. Skipped shapes are counted, and
an annotation with nothing else is not a reading. Further controls of a region have separate results with the region's
id and shape, which form one mark. A number or rating whose control is named ``confidence`` or ``certainty`` is its
confidence, on its scale.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pandas as pd

from overread.errors import FormatError
from overread.files import write_atomically
from overread.marks._ellipse import DrawnEllipse
from overread.marks._mark_set import MarkSet
from overread.marks.formats._builder import (
    MarkSetBuilder,
    Spacings,
    ellipses_in_px,
    is_confidence,
    records,
)
from overread.marks.formats._readers import JsonNode, read_node
from overread.tables import quote_cell

NOBODY = "tasks without annotations"
CANCELLED = "cancelled annotations"
DRAFTS = "drafts"
UNTIED = "confidences that JSON-MIN does not link to a region (export as JSON)"
REPEATED = "further annotations of a member on the same image (kept, as one reading with the marks of all)"


# Keys of a region's position, which all results of the region repeat.
PLACE = ("x", "y", "radiusX", "radiusY", "width", "height", "rotation", "points", "rle", "vertices")


@dataclass(frozen=True)
class _Drawn:
    """A region: the value of its shape with its labels, its result, and values of other controls."""

    value: JsonNode
    region: JsonNode
    said: dict[str, Any]


def _gather(parts: Iterable[tuple[str, str, JsonNode, JsonNode]]) -> list[_Drawn]:
    """Combine the results of one region."""
    found: dict[str, _Drawn] = {}
    for position, (name, control, value, region) in enumerate(parts):
        known = found.get(name, _Drawn(value, region, {}))
        places = _place_of(known.value), _place_of(value)
        if all(places) and (places[0] != places[1] or _frame_of(known.region) != _frame_of(region)):
            name, known = f"{name} {position}", _Drawn(value, region, {})
        if isinstance(known.value.value, dict) and isinstance(value.value, dict):
            both = JsonNode({**value.value, **known.value.value}, known.value.place)
            known = _Drawn(both, known.region if places[0] else region, known.said)
        found[name] = known
        for kind in ("number", "rating", "choices"):
            if kind in value:
                told = value[kind].value
                known.said[control] = told[0] if isinstance(told, list) and len(told) == 1 else told
    return list(found.values())


def _place_of(value: JsonNode) -> dict[str, Any]:
    """Members of a value with the region's position."""
    return {name: value.value[name] for name in PLACE if name in value}


def _frame_of(region: JsonNode) -> list[Any]:
    """Size and rotation of a region's image, as far as the result states them."""
    return [region.value.get(name) for name in ("original_width", "original_height", "image_rotation")]


def read(
    path: Path,
    *,
    spacings: Spacings | None = None,
    image_key: str = "image",
    boxes: bool = False,
    not_rotated: bool = False,
) -> MarkSet:
    """Read an export.

    Parameters
    ----------
    path : Path
        The exported file, JSON or JSON-MIN.
    spacings : Spacings
        Millimetres per pixel, which the export does not tell.
    image_key : str
        Key of a task's data whose value becomes the image id, unchanged.
    boxes : bool
        Whether to import rectangles as their inscribed ellipses.
    not_rotated : bool
        Whether no image was rotated in the editor, which JSON-MIN does not record.
    """
    builder = MarkSetBuilder(str(path), spacings or Spacings())
    tasks = list(read_node(path).items())
    for task in tasks:
        if "annotations" in task:
            _read_task(task, image_key, builder, boxes=boxes)
        elif "annotation_id" in task:
            _read_minimal_task(task, image_key, builder, boxes=boxes, not_rotated=not_rotated)
        else:
            raise FormatError(f"{task.place}: neither a task with annotations nor a JSON-MIN record")
    _leave_out_drafts(builder, tasks, image_key)
    return builder.build()


def _read_task(task: JsonNode, image_key: str, builder: MarkSetBuilder, *, boxes: bool) -> None:
    """Read a task with all its annotations; an image without a reading is skipped."""
    data = task["data"]
    image_id = data[image_key].identifier()
    annotations = list(task["annotations"].items())
    if not annotations:
        builder.notes[NOBODY] += 1
    cancelled: set[tuple[str, str]] = set()
    for annotation in annotations:
        skipped = annotation.get("was_cancelled")
        if skipped is not None and skipped.value is True:
            builder.notes[CANCELLED] += 1
            if drawn_by := annotation.get("completed_by"):
                cancelled.add((image_id, _reader_of(drawn_by)))
            continue
        drawn = _gather(
            (
                named.identifier() if (named := region.get("id")) else f"result {number}",
                control.text() if (control := region.get("from_name")) else "",
                region["value"],
                region,
            )
            for number, region in enumerate(annotation["result"].items())
            if "value" in region
        )
        name, reader = annotation["id"].identifier(), _reader_of(annotation["completed_by"])
        _add_reading(builder, image_id, data.get("image"), reader, name, drawn, boxes=boxes)
    # After the other annotations of the task.
    builder.left_out |= cancelled - {*builder.readings}


def _leave_out_drafts(builder: MarkSetBuilder, tasks: Iterable[JsonNode], image_key: str) -> None:
    """Skip readings that were not submitted; a draft without a member may be anyone's."""
    readers = {reader for _, reader in builder.readings}
    for task in tasks:
        drafts = task.get("drafts")
        for draft in [] if drafts is None else drafts.items():
            builder.notes[DRAFTS] += 1
            names = _members_of(draft)
            begun = {
                (task["data"][image_key].identifier(), name) for name in names & readers or names | readers
            }
            builder.left_out |= begun - {*builder.readings}


def _members_of(draft: JsonNode) -> set[str]:
    """Possible names of the member who made a draft; ``created_username`` ends in the member's number."""
    told = draft.value if isinstance(draft.value, dict) else {}
    return {str(told.get("user", "")), str(told.get("created_username", "")).rpartition(", ")[2]} - {""}


def _shape_name(value: JsonNode) -> str:
    """Name of a skipped shape."""
    if "points" in value or "vertices" in value:
        return "polygon shape"
    if "rle" in value:
        return "brush"
    return "box" if "width" in value and "height" in value else "point"


def _read_minimal_task(
    task: JsonNode, image_key: str, builder: MarkSetBuilder, *, boxes: bool, not_rotated: bool
) -> None:
    """Read a JSON-MIN record: one annotation, its regions in members named after the editor's tags."""
    members = []
    for key, value in task.mapping().items():
        if isinstance(value, list):
            # A repeated shape is another region in the same control, and the same region in another control.
            seen: Counter[str] = Counter()
            for member in JsonNode(value, f"{task.place}.{key}").items():
                place = json.dumps(_place_of(member), sort_keys=True)
                seen[place] += 1
                members.append((f"{place} {seen[place]}", key, member, member))
        is_tied = isinstance(value, list) and all(isinstance(one, dict) for one in value)
        if is_confidence(key) and not is_tied:
            builder.notes[UNTIED] += 1
    name, image_id = task["annotation_id"].identifier(), task[image_key].identifier()
    reader, drawn = _reader_of(task["annotator"]), _gather(members)
    if not not_rotated and any(_is_region(part.value, boxes=boxes) for part in drawn):
        raise FormatError(
            f"{task.place}: JSON-MIN does not record whether an image was rotated in the editor, and marks would be "
            "misplaced (export as JSON, or give --not-rotated if none was)"
        )
    _add_reading(builder, image_id, task.get("image"), reader, name, drawn, boxes=boxes)


def _add_reading(
    builder: MarkSetBuilder,
    image_id: str,
    path: JsonNode | None,
    reader: str,
    name: str,
    drawn: list[_Drawn],
    *,
    boxes: bool,
) -> None:
    """Add a reading, with the size of its image if a region states it, and its marks.

    A reading with only skipped shapes is skipped.
    """
    regions = [part for part in drawn if _is_region(part.value, boxes=boxes)]
    kinds = [_shape_name(part.value) for part in drawn if _is_other_shape(part.value, boxes=boxes)]
    if builder.leave_out(kinds, image_id, reader, all_shapes=len(kinds) + len(regions)):
        return
    if (image_id, reader) in builder.readings:
        builder.notes[REPEATED] += 1
    for rotation in filter(None, (part.region.get("image_rotation") for part in regions)):
        if rotation.number() % 360 != 0:
            raise FormatError(
                f"{rotation.place}: the image was rotated in the editor (rotate it back and export again)"
            )
    sizes = {
        (part.region["original_width"].number(), part.region["original_height"].number()) for part in regions
    }
    if len(sizes) > 1:
        raise FormatError(f"{builder.source}: image {quote_cell(image_id)} has two sizes in one annotation")
    width, height = next(iter(sizes), (math.nan, math.nan))
    builder.add_image(image_id, path=path.text() if path else "", width=width, height=height)
    builder.add_reading(image_id, reader)
    for number, part in enumerate(regions):
        # The id of the region, prefixed if another annotation of the image has it too, or if it is missing.
        named = part.region.get("id")
        mark_id = named.identifier() if named else str(number)
        if not named or mark_id in builder.mark_ids[image_id]:
            mark_id = f"{name}/{mark_id}"
        builder.add_mark(
            image_id,
            reader,
            mark_id,
            **_ellipse_of(part.value, width, height)._asdict(),
            label=_label_of(part.value),
            confidence=builder.confidence_in(part.said),
            place=part.value.place,
        )


def _is_region(value: JsonNode, *, boxes: bool) -> bool:
    """Whether a value is an ellipse, or a rectangle if these are imported."""
    return "radiusX" in value or (boxes and "width" in value and "x" in value)


def _is_other_shape(value: JsonNode, *, boxes: bool) -> bool:
    """Whether a value is a skipped shape: a rectangle, a polygon or a brush, but not a choice or text."""
    shapes = ("x", "points", "rle", "vertices")
    return not _is_region(value, boxes=boxes) and any(name in value for name in shapes)


def _ellipse_of(value: JsonNode, width: float, height: float) -> DrawnEllipse:
    """Ellipse in pixels of a region in percent."""
    per_x, per_y = width / 100.0, height / 100.0
    turned = value.get("rotation")
    angle = turned.number() if turned else 0.0
    x, y = value["x"].number() * per_x, value["y"].number() * per_y
    if "radiusX" in value:
        semi_axes = value["radiusX"].number() * per_x, value["radiusY"].number() * per_y
        return DrawnEllipse((x, y), semi_axes, angle)
    # A rectangle rotates about its top-left corner (x, y).
    a, b = value["width"].number() * per_x / 2, value["height"].number() * per_y / 2
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return DrawnEllipse((x + a * cos - b * sin, y + a * sin + b * cos), (a, b), angle)


def _label_of(value: JsonNode) -> str:
    """First label of a region; a second one is refused, because a mark has one."""
    for key in ("ellipselabels", "rectanglelabels", "labels"):
        if key in value:
            labels = [label.text() for label in value[key].items()]
            if len(labels) > 1:
                raise FormatError(f"{value.place}.{key}: {len(labels)} labels on one region; a mark has one")
            return labels[0] if labels else ""
    return ""


def _reader_of(node: JsonNode) -> str:
    """Reader as an id; if the export has an object, its id."""
    return node["id"].identifier() if isinstance(node.value, dict) else node.identifier()


def write(
    mark_set: MarkSet, path: Path, *, url: str = "{path}", members: Mapping[str, str] | None = None
) -> list[Path]:
    """Write tasks with annotations that Label Studio imports and `read` reads back.

    Each image becomes a task, each reading an annotation, also one without marks. Sizes and spacings come
    from the images table. A mark's id becomes its region's id.

    Parameters
    ----------
    mark_set : MarkSet
        Marks, readings and images.
    path : Path
        The JSON file.
    url : str
        Address of an image, in which ``{path}`` stands for its path, or its id if it has none.
    members : mapping
        Email or number of each reader's account; by default the reader's id.
    """
    images = {row["image_id"]: row for row in records(mark_set.images)}
    marks = dict(tuple(mark_set.marks.groupby(["image_id", "reader_id"], sort=False)))
    tasks: dict[str, dict[str, Any]] = {}
    for number, reading in enumerate(records(mark_set.readings), start=1):
        image_id, reader_id = reading["image_id"], reading["reader_id"]
        row = images.get(image_id, {"image_id": image_id})
        data = {"image": url.replace("{path}", row.get("path") or image_id), "image_id": image_id}
        task = tasks.setdefault(image_id, {"id": len(tasks) + 1, "data": data, "annotations": []})
        drawn = marks.get((image_id, reader_id))
        result = [] if drawn is None else list(_regions_of(drawn, row))
        annotation = {
            "id": number,
            "completed_by": _member((members or {}).get(reader_id, reader_id)),
            "was_cancelled": False,
            "result": result,
        }
        task["annotations"].append(annotation)
    text = json.dumps(list(tasks.values()), ensure_ascii=False, indent=1, allow_nan=False)
    return [write_atomically(path, text.encode("utf-8"))]


def labelling_config(labels: Sequence[str], *, confidence: bool = False) -> str:
    """Labelling interface with the names that `write` uses, and a field for the confidence."""
    number = '<Number name="confidence" toName="image" perRegion="true" step="0.01"/>' if confidence else ""
    rows = "".join(f"<Label value={quoteattr(label)}/>" for label in labels or ["Nodule"])
    return (
        '<View><Image name="image" value="$image" zoom="true" zoomControl="true"/>'
        f'<EllipseLabels name="label" toName="image">{rows}</EllipseLabels>{number}</View>\n'
    )


def _member(reader_id: str) -> int | dict[str, str]:
    """Reader as a member of Label Studio: a number, or an object with an email."""
    if reader_id.isascii() and reader_id.isdigit() and str(int(reader_id)) == reader_id:
        return int(reader_id)
    return {"id": reader_id, "email": reader_id}


def _regions_of(marks: pd.DataFrame, image: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Regions of one reading, in percent."""
    width, height = (float(image.get(name, math.nan)) for name in ("width_px", "height_px"))
    for mark, (x, y, a, b, angle) in ellipses_in_px(marks, image, "percent", sizes=("width_px", "height_px")):
        value: dict[str, Any] = {
            "x": x * 100 / width,
            "y": y * 100 / height,
            "radiusX": a * 100 / width,
            "radiusY": b * 100 / height,
            "rotation": angle,
            "ellipselabels": [mark["label"]] if mark.get("label") else [],
        }
        region = {
            "id": mark["mark_id"],
            "to_name": "image",
            "original_width": round(width),
            "original_height": round(height),
            "image_rotation": 0,
        }
        yield {**region, "type": "ellipselabels", "from_name": "label", "value": value}
        if not math.isnan(sure := float(mark.get("confidence", math.nan))):
            told = {**{name: value[name] for name in PLACE if name in value}, "number": sure}
            yield {**region, "type": "number", "from_name": "confidence", "value": told}
