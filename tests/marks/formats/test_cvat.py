"""CVAT for images 1.1."""

import numpy as np
import pytest

from overread.errors import DataWarning, FormatError, UsageError
from overread.marks import MarkSet, Spacings
from overread.marks.formats import cvat

EXPORT = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><job><id>5</id></job></meta>
  <image id="0" name="a/1.png" width="1000" height="800">
    <ellipse label="nodule" source="manual" cx="100.25" cy="50.50" rx="10.00" ry="20.00" rotation="30.00">
      <attribute name="sure">yes</attribute>
    </ellipse>
    <box label="mass" source="manual" occluded="0" xtl="10" ytl="20" xbr="30" ybr="30" z_order="0"/>
    <polygon label="x" points="1,2;3,4;5,6"/>
  </image>
  <image id="1" name="a/2.png" width="1000" height="800"/>
</annotations>
"""


def read(tmp_path, text: str, **options) -> MarkSet:
    path = tmp_path / "annotations.xml"
    path.write_text(text)
    return cvat.read(path, reader="R1", spacings=Spacings.of(0.5), **options)


def test_ellipses_and_readings(tmp_path):
    with pytest.warns(
        DataWarning, match=r"skipped: 1 box \(import with --boxes\), 1 polygon \(import as ellipses"
    ):
        found = read(tmp_path, EXPORT)
    columns = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    assert found.marks[columns].to_numpy().tolist() == [[50.125, 25.25, 10.0, 5.0, 120.0]]
    assert found.marks[["image_id", "reader_id", "label"]].to_numpy().tolist() == [
        ["a/1.png", "R1", "nodule"]
    ]
    assert found.readings.to_numpy().tolist() == [["a/1.png", "R1"], ["a/2.png", "R1"]]
    assert found.images[["width_px", "height_px"]].to_numpy().tolist() == [[1000, 800], [1000, 800]]


def test_boxes_on_request(tmp_path):
    with pytest.warns(DataWarning, match=r"skipped: 1 polygon \(import as ellipses with --polygons"):
        found = read(tmp_path, EXPORT, boxes=True)
    assert found.marks["label"].tolist() == ["nodule", "mass"]
    assert found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].iloc[1].tolist() == [
        10,
        12.5,
        5,
        2.5,
    ]


def test_an_image_of_other_shapes_alone_is_no_reading_without_marks(tmp_path):
    """What datumaro writes: a box and a polygon, no ellipse."""
    text = """<annotations><image id="0" name="a.jpg" width="100" height="100">
<box label="n" xtl="15" ytl="32.5" xbr="35" ybr="47.5"/><polygon label="n" points="0,0;8,0;8,4;0,4"/>
<mask label="n" rle="1,2" left="0" top="0" width="2" height="2"/><points label="n" points="1,1"/></image>
<image id="1" name="b.jpg" width="100" height="100"/></annotations>"""
    words = r"1 box \(.*\), 1 polygon \(.*\), 1 mask, 1 points, 1 readings with nothing else"
    with pytest.warns(DataWarning, match=words):
        found = read(tmp_path, text)
    assert found.readings["image_id"].tolist() == ["b.jpg"]
    with pytest.warns(DataWarning, match="skipped: 1 mask, 1 points"):
        found = read(tmp_path, text, boxes=True, polygons="ellipse")
    shapes = found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]].to_numpy()
    # The polygon is a box of 8 x 4 px: second moments 64/12 and 16/12, semi-axes twice their roots.
    wanted = [[12.5, 20, 5, 3.75, 0], [2, 1, 4 / 3**0.5, 2 / 3**0.5, 0]]
    assert np.abs(shapes - wanted).max() < 1e-9
    with pytest.raises(UsageError, match="--polygons hull"):
        read(tmp_path, text, polygons="hull")


@pytest.mark.filterwarnings("ignore::overread.errors.DataWarning")
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("annotations>", "other>", "root is <other>"),
        ('cx="100.25" ', "", "lacks the attribute cx"),
        ('rx="10.00"', 'rx="0.00"', "semi-axes"),
        ('rx="10.00"', 'rx="nan"', "rx is 'nan'"),
        ('rotation="30.00"', 'rotation="30°"', "rotation is"),
        ("a/2.png", "a/1.png", "occurs twice"),
        ('width="1000" ', "", "lacks the attribute width"),
        ("<version>1.1</version>", "<track/>", "for video"),
    ],
)
def test_wrong_exports_are_refused(tmp_path, old, new, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, EXPORT.replace(old, new))
