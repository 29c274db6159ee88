"""COCO: boxes ``[x, y, width, height]`` in pixels from the image's top-left corner.

Pixel (0, 0) covers [0, 1] x [0, 1]. A box becomes its inscribed ellipse. COCO has no reader: either a key of each
annotation names the reader (``rad_id``, ``annotator``), or the file is by one reader. COCO has no readings either: one
reader read every image that the file lists; otherwise the images need a key with their readers.

The module also reads boxes of other detectors: COCO, MONAI and nnDetection.

Facts of the formats, each from the tool's own source:

- COCO results: a list of ``{"image_id", "category_id", "bbox": [x, y, width, height], "score"}`` in px,
  (x, y) the top-left corner. COCO ground truth: ``{"images": [{"id", ...}], "annotations": [{"image_id",
  "bbox", ...}]}``.
- MONAI: entries ``{"image": path, "box": [[...]], "label": [...], "score": [...]}``, one for every image that was read,
in a separate list (bundles; there the scores are "label_scores") or under one key
  such as "validation" (tutorials). The file states neither the meaning of a box's numbers nor their unit.
- nnDetection keeps pickles, which Overread never opens. Its ``nndet_boxes2nii`` writes ``CASE_boxes.json``:
  ``{"1": {"score", "label", "box"}}``, cut at its ``--threshold`` and rounded to whole px. A dump of a
  pickle is ``{"pred_boxes", "pred_scores", "pred_labels"}``, alone (the file is named
  ``CASE_boxes.json``) or one per case. Boxes are (axis 0, axis 1, axis 0, axis 1, axis 2, axis 2) of the
  array, from one before the first pixel to one past the last: pixels a..b are written [a - 1, b + 1].
"""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from overread.errors import FormatError, UsageError
from overread.marks._ellipse import DrawnEllipse
from overread.marks._file_names import IMAGE_ENDINGS
from overread.marks._mark_set import WHO_READ, MarkSet
from overread.marks.formats._builder import MarkSetBuilder, Spacings
from overread.marks.formats._readers import JsonNode, read_node
from overread.tables import quote_cell


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
        Reader of the file, if it is by one reader.
    reader_key, readings_key : str
        Otherwise: key of an annotation with its reader, and key of an image with all its readers.
    derive_readings : bool
        Without ``readings_key``, assume that each reader read only the images that they marked.
    """
    if (reader is None) == (reader_key is None):
        raise UsageError("COCO files do not state the reader: give --reader NAME=FILE, or --reader-key")
    if reader_key is not None and readings_key is None and not derive_readings:
        raise UsageError(
            f"{path}: {WHO_READ}; here also --readings-key, the key of an image with its readers"
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
            raise FormatError(f"{image.place}.id: {quote_cell(number)} occurs twice")
        files[number] = image["file_name"].identifier()
        _read_image(builder, image, reader, readings_key)
    for annotation in root["annotations"].items():
        owner, mark_id = annotation["image_id"].identifier(), annotation["id"].identifier()
        if owner not in files:
            raise FormatError(f"{annotation.place}.image_id: no image {quote_cell(owner)} in this file")
        category = annotation.get("category_id")
        who = reader or annotation[str(reader_key)].identifier()
        if derive_readings and readings_key is None:
            builder.add_reading(files[owner], who)
        builder.add_mark(
            files[owner],
            who,
            f"{reader}/{mark_id}" if reader else mark_id,
            **_ellipse_of(annotation["bbox"])._asdict(),
            label=names.get(category.identifier(), "") if category else "",
            confidence=score.number() if (score := annotation.get("score")) else math.nan,
            place=annotation.place.rpartition(": ")[2],
        )
    return builder.build()


EMPTY = JsonNode([], "")


def _ellipse_of(box: JsonNode) -> DrawnEllipse:
    """Return the inscribed ellipse of a box."""
    numbers = [node.number() for node in box.items()]
    if len(numbers) != 4:
        raise FormatError(f"{box.place}: {len(numbers)} numbers instead of x, y, width, height")
    x, y, width, height = numbers
    return DrawnEllipse((x + width / 2, y + height / 2), (width / 2, height / 2))


def _read_image(
    builder: MarkSetBuilder, image: JsonNode, reader: str | None, readings_key: str | None
) -> None:
    """Add an image under its file name, and its readings."""
    name = image["file_name"].identifier()
    sizes = [node.number() if (node := image.get(key)) else math.nan for key in ("width", "height")]
    if name in builder.images:
        raise FormatError(f"{image.place}.file_name: {quote_cell(name)} occurs twice")
    builder.add_image(name, path=name, width=sizes[0], height=sizes[1])
    listed = image[readings_key].items() if readings_key and not reader else ()
    for one in [reader] if reader else [node.identifier() for node in listed]:
        builder.add_reading(name, one)


JsonFormat = Literal["coco", "monai", "nndetection"]
BoxMode = Literal["xyxy", "xxyy", "xywh", "ccwh"]

# 200,000 images with 100 boxes each: more than any study has.
MAX_BOXES = 20_000_000
ENDINGS = (".json", ".nii.gz", ".nii", *IMAGE_ENDINGS, ".mha", ".mhd", ".npy")


@dataclass(frozen=True, slots=True)
class Box:
    """One box: corners in the file's unit, its image, and its path in the file."""

    image_id: str
    corners: tuple[float, float, float, float]
    score: float | None
    label: str
    place: str


@dataclass(frozen=True, slots=True)
class BoxFile:
    """All boxes of a file.

    ``images`` lists every image that was read, also without boxes; None if the format cannot state it.
    """

    path: Path
    format: JsonFormat
    boxes: tuple[Box, ...]
    images: tuple[str, ...] | None


def read_box_file(
    path: str | Path, format: JsonFormat | None = None, *, box_mode: BoxMode | None = None
) -> BoxFile:
    """Read the boxes of a JSON file; ``format`` None recognizes the structure."""
    file = Path(path)
    if file.suffix.lower() in (".pkl", ".pickle"):
        raise FormatError(f"{file}: pickles can run code and are never opened. Write the boxes as JSON.")
    try:
        root = read_node(file)
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror or error}") from error
    kind = format or _recognize_format(root.value, file)
    if kind not in get_args(JsonFormat):
        raise FormatError(f"{file}: unknown format {kind!r}; give one of {', '.join(get_args(JsonFormat))}")
    if kind == "coco":
        found = _coco_boxes(root, file)
    else:
        found = _monai_boxes(root, file, box_mode) if kind == "monai" else _nndetection_boxes(root, file)
    twice = next((image for image, n in Counter(found.images or ()).items() if n > 1), None)
    if twice is not None:
        raise FormatError(f"{file}: image {twice[:60]!r} is listed twice")
    if len(found.boxes) > MAX_BOXES:
        raise FormatError(
            f"{file}: {len(found.boxes):,} boxes, more than {MAX_BOXES:,}. Remove those with the lowest scores."
        )
    return found


def _recognize_format(data: Any, path: Path) -> JsonFormat:
    """Recognize the format of a file."""
    first = data[0] if isinstance(data, list) and data else data
    keys = first.keys() if isinstance(first, dict) else set()
    if isinstance(data, list) and keys & {"bbox", "box"}:
        return "coco" if "bbox" in keys else "monai"
    if isinstance(data, dict):
        if {"annotations", "images"} <= keys:
            return "coco"
        cases = [part for part in data.values() if isinstance(part, dict)]
        if any("pred_boxes" in case or _is_instance(case) for case in (data, *cases)):
            return "nndetection"
        if any(isinstance(part, list) for part in data.values()):
            return "monai"
    raise FormatError(
        f"{path}: not recognized as COCO, MONAI or nnDetection detections. Give the format, or use CSV "
        "(docs/how-to/your_detector.md)"
    )


def _coco_boxes(root: JsonNode, path: Path) -> BoxFile:
    """Boxes of COCO results, or of COCO ground truth, which also lists the images."""
    is_truth = isinstance(root.value, dict)
    images = tuple(image["id"].identifier() for image in root["images"].items()) if is_truth else None
    boxes = []
    for entry in (root["annotations"] if is_truth else root).items():
        if (crowd := entry.get("iscrowd")) and crowd.value:
            raise FormatError(f"{entry.place}: a crowd region is not a lesion. Remove it from the file.")
        image_id, box = entry["image_id"].identifier(), corners(entry["bbox"], "xywh")
        score = entry["score"].number() if "score" in entry else None
        boxes.append(Box(image_id, box, score, str(entry.mapping().get("category_id", "")), entry.place))
    return BoxFile(path, "coco", tuple(boxes), images)


def _monai_boxes(root: JsonNode, path: Path, box_mode: BoxMode | None) -> BoxFile:
    """Boxes of a MONAI result file; the image is named by its file name without folder and ending."""
    if box_mode is None:
        raise FormatError(
            f"{path}: a MONAI file does not state how a box is written. Give the box mode: "
            "xyxy (MONAI's standard), xxyy, xywh or ccwh"
        )
    images: list[str] = []
    boxes: list[Box] = []
    lists = [root[name] for name in root.mapping()] if isinstance(root.value, dict) else [root]
    for entry in (entry for part in lists for entry in part.items()):
        images.append(_file_stem(str(entry["image"].value)))
        scores = entry["score" if "score" in entry else "label_scores"]
        boxes += _parallel_boxes(images[-1], entry["box"], scores, entry.get("label"), box_mode)
    return BoxFile(path, "monai", tuple(boxes), tuple(images))


def _nndetection_boxes(root: JsonNode, path: Path) -> BoxFile:
    """Boxes of nnDetection, by case; a file with one case is named after it."""
    parts = root.mapping()
    if "pred_boxes" in parts or all(_is_instance(part) for part in parts.values()):
        cases = {_file_stem(path.name).removesuffix("_boxes"): root}
    else:
        cases = {case: root[case] for case in parts}
    boxes: list[Box] = []
    for case, entry in cases.items():
        if "pred_boxes" in entry:
            scores, labels = entry["pred_scores"], entry.get("pred_labels")
            boxes += _parallel_boxes(case, entry["pred_boxes"], scores, labels, None)
        else:
            for part in (entry[key] for key in entry.mapping()):
                box, score = _array_corners(part["box"]), part["score"].number()
                boxes.append(Box(case, box, score, str(part.mapping().get("label")), part.place))
    return BoxFile(path, "nndetection", tuple(boxes), tuple(cases))


def _is_instance(part: Any) -> bool:
    """Whether an entry is one box of ``nndet_boxes2nii``."""
    return isinstance(part, dict) and {"box", "score"} <= part.keys()


def _parallel_boxes(
    image_id: str, boxes: JsonNode, scores: JsonNode, labels: JsonNode | None, box_mode: BoxMode | None
) -> list[Box]:
    """Boxes of one image from lists of equal length; ``box_mode`` None is nnDetection's."""
    written, rated = list(boxes.items()), list(scores.items())
    named = [""] * len(written) if labels is None else [str(label.value) for label in labels.items()]
    if not len(written) == len(rated) == len(named):
        raise FormatError(f"{boxes.place}: {len(written)} boxes, {len(rated)} scores and {len(named)} labels")
    return [
        Box(
            image_id,
            _array_corners(box) if box_mode is None else corners(box, box_mode),
            score.number(),
            label,
            box.place,
        )
        for box, score, label in zip(written, rated, named, strict=True)
    ]


def corners(box: JsonNode, mode: BoxMode) -> tuple[float, float, float, float]:
    """x_min, y_min, x_max, y_max of a box written in a mode."""
    values = [one.number() for one in box.items()]
    if len(values) != 4:
        hint = "; boxes in 3-D cannot be compared with marks on a radiograph" if len(values) == 6 else ""
        raise FormatError(f"{box.place}: a box has 4 numbers, not {len(values)}{hint}")
    if mode not in get_args(BoxMode):
        raise FormatError(
            f"{box.place}: unknown box mode {mode!r}; give one of {', '.join(get_args(BoxMode))}"
        )
    a, b, c, d = values
    written = {
        "xyxy": (a, b, c, d),
        "xxyy": (a, c, b, d),
        "xywh": (a, b, a + c, b + d),
        "ccwh": (a - c / 2, b - d / 2, a + c / 2, b + d / 2),
    }
    return _require_sides(written[mode], box.place)


def _array_corners(box: JsonNode) -> tuple[float, float, float, float]:
    """Corners of an nnDetection box, without its margin and without the slice axis of a flat image."""
    values = [one.number() for one in box.items()]
    if len(values) == 6:
        if not -1 <= values[0] <= values[2] <= 1:
            raise FormatError(
                f"{box.place}: the box spans several slices; only images of one slice can be used"
            )
        values = [values[1], values[4], values[3], values[5]]
    if len(values) != 4:
        raise FormatError(
            f"{box.place}: a box has 4 numbers, or 6 in an image of one slice, not {len(values)}"
        )
    top, left, bottom, right = values
    return _require_sides((left + 1, top + 1, right, bottom), box.place)


def _require_sides(found: tuple[float, float, float, float], place: str) -> tuple[float, float, float, float]:
    """Corners of a box with positive sides."""
    x_min, y_min, x_max, y_max = found
    if not (x_max > x_min and y_max > y_min):
        raise FormatError(f"{place}: sides {x_max - x_min:g} x {y_max - y_min:g}; is the box mode correct?")
    return found


def _file_stem(name: str) -> str:
    """File name without folder and ending."""
    base = PurePosixPath(name.replace("\\", "/")).name
    ending = next((ending for ending in ENDINGS if base.lower().endswith(ending)), "")
    return base[: len(base) - len(ending)] or base
