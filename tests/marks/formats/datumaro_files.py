"""Run by datumaro's own environment: writes a dataset in several formats, and prints how datumaro reads each back.

python datumaro_files.py FOLDER prints JSON: format -> image -> list of [kind, x, y, width, height] of boxes around the
shapes, in pixels.
"""

import json
import sys
from pathlib import Path

import numpy as np
from datumaro.components.annotation import Bbox, Ellipse, Polygon
from datumaro.components.dataset import Dataset
from datumaro.components.dataset_base import DatasetItem
from datumaro.components.media import Image

FORMATS = ("coco_instances", "cvat", "voc_detection", "yolo")
SIZE = (200, 160)


def make_dataset() -> Dataset:
    """Boxes, a polygon and an ellipse on two images, and an image without any."""
    shapes = {
        "a": [Bbox(20.25, 30.5, 40.75, 20.5, label=0), Bbox(100, 90, 16, 24, label=0)],
        "b": [
            Bbox(5.5, 6.25, 30.0, 12.5, label=0),
            Polygon([60, 60, 100, 60, 100, 84, 60, 84], label=0),
            Ellipse(110.0, 100.0, 130.0, 150.0, label=0),
        ],
        "c": [],
    }
    pixels = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    items = [
        DatasetItem(id=name, subset="train", media=Image.from_numpy(pixels), annotations=found)
        for name, found in shapes.items()
    ]
    return Dataset.from_iterable(items, categories=["nodule"])


def read_back(folder: Path, format_: str) -> dict[str, list[list[object]]]:
    """Shapes as datumaro reads them."""
    found = {}
    for item in Dataset.import_from(str(folder), format_):
        boxes = [
            [one.type.name, *map(float, one.get_bbox())]
            for one in item.annotations
            if one.type.name in ("bbox", "polygon", "ellipse", "mask")
        ]
        found[item.id] = boxes
    return found


if __name__ == "__main__":
    place = Path(sys.argv[1])
    answer = {}
    for name in FORMATS:
        make_dataset().export(str(place / name), name, save_media=True)
        answer[name] = read_back(place / name, name)
    print(json.dumps(answer))
