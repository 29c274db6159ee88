"""What the real package datumaro writes is read as datumaro itself reads it, to 1e-9 mm where the format has digits.

datumaro runs in an environment of its own (``make datumaro``); without it the tests are skipped.
"""

import json
import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.errors import DataWarning
from overread.marks import read_marks

PYTHON = Path(os.environ.get("DATUMARO", ".venv-datumaro/bin/python"))
SCRIPT = Path(__file__).with_name("datumaro_files.py")
MM = (0.5, 0.25)
COLUMNS = ["x_mm", "y_mm", "half_width_mm", "half_height_mm"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folder of datumaro's files, and what datumaro reads in them."""
    if not PYTHON.is_file():
        pytest.skip("needs datumaro: make datumaro")
    folder = tmp_path_factory.mktemp("datumaro")
    command = [str(PYTHON), str(SCRIPT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return folder, json.loads(done.stdout.splitlines()[-1])


def boxes_of(told, kinds, scale=1.0):
    """Centres and half sides in mm of the shapes that datumaro tells, sorted by image and place."""
    rows = [
        (
            image,
            (x + width / 2) * MM[0],
            (y + height / 2) * MM[1],
            width / 2 * MM[0] * scale,
            height / 2 * MM[1] * scale,
        )
        for image, shapes in told.items()
        for kind, x, y, width, height in shapes
        if kind in kinds
    ]
    return pd.DataFrame(sorted(rows), columns=["image_id", *COLUMNS])


def boxes_around(marks):
    """Centres and half sides of upright ellipses, sorted likewise."""
    turn = np.deg2rad(marks["angle_deg"])
    major, minor = marks["semi_major_mm"], marks["semi_minor_mm"]
    found = pd.DataFrame(
        {
            "image_id": [Path(name).stem for name in marks["image_id"]],
            "x_mm": marks["x_mm"],
            "y_mm": marks["y_mm"],
            "half_width_mm": np.hypot(major * np.cos(turn), minor * np.sin(turn)),
            "half_height_mm": np.hypot(major * np.sin(turn), minor * np.cos(turn)),
        }
    )
    return found.sort_values(list(found), ignore_index=True)


def check_equal(found, expected, atol=1e-9):
    assert found["image_id"].tolist() == expected["image_id"].tolist()
    np.testing.assert_allclose(found[COLUMNS], expected[COLUMNS], rtol=0, atol=atol)


def test_coco(written):
    """COCO has no ellipses: box, polygon and ellipse come as the boxes that datumaro wrote around them."""
    folder, told = written
    path = folder / "coco_instances" / "annotations" / "instances_train.json"
    found = read_marks(path, "coco", mm_per_px=MM, reader="R")
    check_equal(boxes_around(found.marks), boxes_of(told["coco_instances"], ["bbox"]))
    assert len(found.marks) == 5
    assert len(found.readings) == 3


def test_cvat(written):
    folder, told = written
    path = folder / "cvat" / "train.xml"
    with pytest.warns(DataWarning, match="skipped: 1 polygon"):
        found = read_marks(path, "cvat", mm_per_px=MM, reader="R", boxes=True)
    check_equal(boxes_around(found.marks), boxes_of(told["cvat"], ["bbox"]))
    both = read_marks(path, "cvat", mm_per_px=MM, reader="R", boxes=True, polygons="ellipse")
    # The ellipse of a rectangle's moments: side^2 / 12 = (half axis)^2 / 4.
    polygon = boxes_of(told["cvat"], ["polygon"], scale=2 / math.sqrt(3))
    boxes = boxes_of(told["cvat"], ["bbox"])
    everything = pd.concat([boxes, polygon]).sort_values(["image_id", *COLUMNS], ignore_index=True)
    check_equal(boxes_around(both.marks), everything)
    assert len(polygon) == 1
    assert len(both.readings) == 3


def test_voc(written):
    folder, told = written
    found = read_marks(folder / "voc_detection" / "Annotations", "voc", mm_per_px=MM, reader="R")
    check_equal(boxes_around(found.marks), boxes_of(told["voc_detection"], ["bbox"]))
    # datumaro writes no file for the image without shapes.
    assert sorted(found.readings["image_id"]) == ["a.jpg", "b.jpg"]


def test_yolo(written):
    """Six digits of a fraction of 200 pixels: half of the last digit of centre and side is 1e-4 px."""
    folder, told = written
    images = pd.DataFrame(
        {
            "image_id": ["a", "b", "c"],
            "width_px": 200,
            "height_px": 160,
            "mm_per_px_x": MM[0],
            "mm_per_px_y": MM[1],
        }
    )
    found = read_marks(folder / "yolo" / "obj_train_data", "yolo", images=images, reader="R")
    check_equal(boxes_around(found.marks), boxes_of(told["yolo"], ["bbox"]), atol=1e-4 * max(MM))
    assert len(found.marks) == 3
    assert sorted(found.readings["image_id"]) == ["a", "b", "c"]
