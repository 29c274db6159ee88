"""VIA's ellipses in and out."""

import json
import math

import numpy as np
import pytest

from overread.errors import DataWarning, UsageError
from overread.marks import ELLIPSE_COLUMNS, detect_format, read_marks, write_marks
from overread.tables import plain

SHAPE = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
ELLIPSE = {"name": "ellipse", "cx": 20, "cy": 10, "rx": 8, "ry": 4, "theta": math.pi / 6}
BOX = {"name": "rect", "x": 10, "y": 20, "width": 8, "height": 4}
POLYGON = {"name": "polygon", "all_points_x": [0, 8, 8, 0], "all_points_y": [0, 0, 4, 4]}
POINT = {"name": "point", "cx": 1, "cy": 1}


def project(path, **images):
    entries = {
        f"{name}-1": {
            "filename": f"{name}.png",
            "size": 1,
            "regions": [
                {"shape_attributes": shape, "region_attributes": {"kind": "nodule"}} for shape in shapes
            ],
            "file_attributes": {},
        }
        for name, shapes in images.items()
    }
    path.write_text(json.dumps({"_via_settings": {}, "_via_img_metadata": entries}))
    return path


def test_a_project_and_its_exported_annotations_are_the_same(tmp_path):
    path = project(tmp_path / "p.json", a=[ELLIPSE], b=[])
    assert detect_format(path) == "via"
    found = read_marks(path, reader="R", mm_per_px=0.5)
    assert found.marks[SHAPE].to_numpy()[0] == pytest.approx([10, 5, 4, 2, 30])
    assert found.marks["label"].tolist() == ["nodule"]
    assert found.readings["image_id"].tolist() == ["a.png", "b.png"]
    bare = tmp_path / "bare.json"
    bare.write_text(json.dumps(json.loads(path.read_text())["_via_img_metadata"]))
    assert read_marks(bare, reader="R", mm_per_px=0.5).marks[SHAPE].equals(found.marks[SHAPE])


def test_other_shapes_are_counted_or_taken_on_request(tmp_path):
    path = project(tmp_path / "p.json", a=[ELLIPSE, BOX], b=[POLYGON, POINT])
    with pytest.warns(
        DataWarning, match=r"1 box \(.*\), 1 polygon \(.*\), 1 point, 1 readings with nothing else"
    ):
        found = read_marks(path, reader="R", mm_per_px=1)
    assert found.readings["image_id"].tolist() == ["a.png"]
    with pytest.warns(DataWarning, match="skipped: 1 point$"):
        found = read_marks(path, reader="R", mm_per_px=1, boxes=True, polygons="ellipse")
    # Pixels of 1 x 1 say that no size is known.
    shapes = plain(found.marks, "px")[0][list(ELLIPSE_COLUMNS)].to_numpy()
    # A box of 8 x 4 has the moments 64/12 and 16/12; so has the ellipse of semi-axes 2 sqrt of them.
    assert shapes[1] == pytest.approx([14, 22, 4, 2, 0])
    assert shapes[2] == pytest.approx([4, 2, 8 / 3**0.5, 4 / 3**0.5, 0])


def test_what_is_written_is_read_back(tmp_path):
    before = read_marks(project(tmp_path / "p.json", a=[ELLIPSE], b=[]), reader="R", mm_per_px=(0.5, 0.8))
    (path,) = write_marks(before, tmp_path / "out.json", "via")
    after = read_marks(path, reader="R", mm_per_px=(0.5, 0.8))
    assert np.abs(after.marks[SHAPE].to_numpy() - before.marks[SHAPE].to_numpy()).max() < 1e-9
    assert after.readings.equals(before.readings)
    with pytest.raises(UsageError, match="--reader Q: the readers are R"):
        write_marks(before, tmp_path / "out.json", "via", reader="Q")
