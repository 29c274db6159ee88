"""DIARETDB1's XML, on files of its form that we wrote: the original may not be passed on."""

import numpy as np
import pytest

from overread.errors import FormatError
from overread.marks import detect_format, read_marks

SHAPE = ["x_px", "y_px", "semi_major_px", "semi_minor_px", "angle_deg", "confidence"]
CIRCLE = "<circleregion><centroid><coords2d>10,20</coords2d></centroid><radius>5</radius></circleregion>"
ELLIPSE = """<ellipseregion><centroid><coords2d>30,40</coords2d></centroid><radius direction="x">8</radius>
<radius direction="y">4</radius><angle>30</angle></ellipseregion>"""
POLYGON = """<polygonregion><centroid><coords2d>4,2</coords2d></centroid><coords2d>0,0</coords2d>
<coords2d>8,0</coords2d><coords2d>8,4</coords2d><coords2d>0,4</coords2d></polygonregion>"""


def write(folder, name, *markings):
    body = "".join(
        f"<marking>{shape}<representativepoint><coords2d>1,1</coords2d></representativepoint>"
        f"<confidencelevel>{level}</confidencelevel><markingtype>Hard_exudates</markingtype></marking>"
        for shape, level in markings
    )
    path = folder / name
    path.write_text(
        f"<imgannotooldata><imagename>image001.png</imagename><markinglist>{body}</markinglist></imgannotooldata>"
    )
    return path


def test_shapes_experts_and_confidence(tmp_path):
    write(tmp_path, "image001_01_plain.xml", (CIRCLE, "High"), (ELLIPSE, "Medium"), (POLYGON, "Low"))
    write(tmp_path, "image001_02_plain.xml")
    assert detect_format(tmp_path) == "diaretdb"
    found = read_marks(tmp_path, mm_per_px=1)
    wanted = [[10, 20, 5, 5, 0, 1], [30, 40, 8, 4, 150, 0.75], [4, 2, 8 / 3**0.5, 4 / 3**0.5, 0, 0.25]]
    assert np.abs(found.marks[SHAPE].to_numpy() - wanted).max() < 1e-9
    assert found.readings["reader_id"].tolist() == ["1", "2"]
    assert set(found.marks["label"]) == {"Hard_exudates"}


def test_a_reading_that_is_there_twice_is_read_once(tmp_path):
    """The original has each file with a document type, which is refused, and plain."""
    write(tmp_path, "image001_01_plain.xml", (CIRCLE, "High"))
    twin = write(tmp_path, "image001_01.xml", (CIRCLE, "High"))
    twin.write_text(f"<!DOCTYPE imgannotool SYSTEM 'away.dtd'>{twin.read_text()}")
    assert len(read_marks(tmp_path, mm_per_px=1).marks) == 1
    with pytest.raises(FormatError, match="document type"):
        read_marks(twin, format="diaretdb", mm_per_px=1)


def test_what_is_wrong_is_named(tmp_path):
    path = write(tmp_path, "other.xml", (CIRCLE, "High"))
    with pytest.raises(FormatError, match="the name does not contain the expert"):
        read_marks(path, mm_per_px=1)
    assert len(read_marks(path, reader="E", mm_per_px=1).marks) == 1
    with pytest.raises(FormatError, match="marking 1: the confidence 'sure'"):
        read_marks(write(tmp_path, "x_01_plain.xml", (CIRCLE, "sure")), mm_per_px=1)
    with pytest.raises(FormatError, match="no circle, ellipse or polygon"):
        read_marks(write(tmp_path, "y_01_plain.xml", ("", "High")), mm_per_px=1)
