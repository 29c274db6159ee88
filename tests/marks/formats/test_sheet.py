"""Rows of a spreadsheet become ellipses in mm."""

import pandas as pd
import pytest

from overread.errors import FormatError
from overread.marks import read_marks

SHAPE = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
SIZES = pd.DataFrame(
    {"image_id": ["a"], "mm_per_px_x": [0.5], "mm_per_px_y": [0.5], "width_px": [200.0], "height_px": [100.0]}
)


@pytest.fixture
def read(tmp_path):
    def of(text, name="t.csv", **options):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_marks(path, "sheet", **{"derive_readings": True, **options})

    return of


@pytest.mark.parametrize(
    ("header", "row", "options"),
    [
        ("x_min,y_min,x_max,y_max", "16,12,24,28", {"unit": "px"}),
        ("left,top,width,height", "16,12,8,16", {"unit": "px"}),
        ("x,y,width,height", "16,12,8,16", {"unit": "px", "xy": "corner"}),
        ("x,y,width,height", "20,20,8,16", {"unit": "px", "xy": "centre"}),
        ("cx,cy,rx,ry", "20,20,4,8", {"unit": "px"}),
        ("cx,cy,width,height", "0.1,0.2,0.04,0.16", {}),
        ("cx,cy,width,height", "10,20,4,16", {"unit": "percent"}),
        ("x_mm,y_mm,width_mm,height_mm", "10,10,4,8", {"xy": "centre"}),
        ("cx,cy,width,height,angle", "20,20,16,8,90", {"unit": "px", "angle": "clockwise"}),
    ],
)
def test_every_way_to_write_a_mark_gives_the_same_ellipse(read, header, row, options):
    found = read(f"image,reader,{header}\na.png,R,{row}\n", images=SIZES, **options)
    assert found.marks[SHAPE].to_numpy()[0] == pytest.approx([10, 10, 4, 2, 90])
    assert found.marks["image_id"].tolist() == ["a"]


def test_angles_turn_as_told(read):
    text = "image,reader,cx,cy,width,height,angle\na,R,20,20,16,8,30\n"
    one = read(text, mm_per_px=1, angle="clockwise").marks["angle_deg"].tolist()
    other = read(text, mm_per_px=1, angle="counterclockwise").marks["angle_deg"].tolist()
    assert one == pytest.approx([30])
    assert other == pytest.approx([150])


def test_circles_and_points(read):
    text = "image,reader,x,y,{}\na,R,20,30,{}\n"
    for name, value in (("diameter", 8), ("radius", 4)):
        shape = read(text.format(name, value), mm_per_px=0.5).marks[SHAPE].to_numpy()[0]
        assert shape == pytest.approx([10, 15, 2, 2, 0])
    point = read("image,reader,x,y\na,R,20,30\n", mm_per_px=0.5, radius_mm=3).marks[SHAPE].to_numpy()[0]
    assert point == pytest.approx([10, 15, 3, 3, 0])


def test_a_row_without_numbers_is_a_reading_and_comments_stay(read):
    text = "image,reader,x,y,radius,comment,confidence\na,R,9,9,2,unsure,0.5\na,S,,,,clear,\n"
    found = read(text, mm_per_px=1)
    assert found.marks[["reader_id", "comment", "confidence"]].to_numpy().tolist() == [["R", "unsure", 0.5]]
    assert found.readings["reader_id"].tolist() == ["R", "S"]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            "image,reader,x,y,radius\na,R,9,9,2\n",
            {"derive_readings": False},
            "who read which image.*--all-read-all",
        ),
        ("image,reader,x,y,radius\na,R,9,,2\n", {}, "row 2, column y: is empty"),
        ("image,reader,x,y,radius\n,R,9,9,2\n", {}, "row 2: no image"),
        ("image,reader,x,y,width,height\na,R,9,9,2,2\n", {}, "--xy corner|centre"),
        ("image,reader,x,y,radius\na,R,9,9,2\n", {"reader": "Q"}, "tells readers already"),
        ("image,reader,x,y,radius\na,R,9,9,-2\n", {}, "must be positive"),
        ("image,reader,x,y,radius\na,R,0.1,0.1,0.2\n", {"images": SIZES}, "not square"),
        ("image,reader,x,y,radius\nb,R,0.1,0.1,0.2\n", {}, "width_px and height_px"),
    ],
)
def test_mistakes_name_the_row_or_the_option(read, text, options, words):
    with pytest.raises(FormatError, match=words):
        read(text, **({"mm_per_px": 1} if "images" not in options else {}), **options)
