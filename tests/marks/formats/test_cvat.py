"""CVAT for images 1.1."""

from __future__ import annotations

import pytest

from overread.errors import FormatError
from overread.marks.formats import cvat
from overread.marks.formats.building import Spacings
from overread.marks.mark_set import MarkSet

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
    found = read(tmp_path, EXPORT)
    columns = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
    assert found.marks[columns].to_numpy().tolist() == [[50.125, 25.25, 10.0, 5.0, 120.0]]
    assert found.marks[["image_id", "reader_id", "label"]].to_numpy().tolist() == [
        ["a/1.png", "R1", "nodule"]
    ]
    assert found.readings.to_numpy().tolist() == [["a/1.png", "R1"], ["a/2.png", "R1"]]
    assert found.images[["width_px", "height_px"]].to_numpy().tolist() == [[1000, 800], [1000, 800]]


def test_boxes_on_request(tmp_path):
    found = read(tmp_path, EXPORT, boxes=True)
    assert found.marks["label"].tolist() == ["nodule", "mass"]
    assert found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].iloc[1].tolist() == [
        10,
        12.5,
        5,
        2.5,
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("annotations>", "other>", "root is <other>"),
        ('cx="100.25" ', "", "lacks the attribute cx"),
        ('rx="10.00"', 'rx="0.00"', "semi-axes"),
        ('rx="10.00"', 'rx="nan"', "rx is 'nan'"),
        ('rotation="30.00"', 'rotation="30°"', "rotation is"),
        ("a/2.png", "a/1.png", "is there twice"),
        ('width="1000" ', "", "lacks the attribute width"),
        ("<version>1.1</version>", "<track/>", "for video"),
    ],
)
def test_wrong_exports_are_refused(tmp_path, old, new, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, EXPORT.replace(old, new))
