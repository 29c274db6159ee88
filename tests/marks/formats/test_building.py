"""The builder refuses what cannot be and gives the tables in mm.

Hostile XML gives typed errors, in bounded time and memory.
"""

import math
import tracemalloc
import warnings

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import DataWarning, FormatError, InvalidInputError
from overread.marks import MarkSetBuilder, Spacings, scale_of_copy
from overread.marks.formats import _readers as xml_file
from overread.marks.formats._readers import number_in, read_node, read_xml
from overread.tables import check_study


@pytest.fixture
def builder() -> MarkSetBuilder:
    made = MarkSetBuilder("f.xml", Spacings.of((0.1, 0.2)))
    made.add_image("i")
    made.add_reading("i", "R1")
    return made


def test_marks_in_pixels_and_in_mm_become_mm(builder):
    builder.add_mark("i", "R1", "m1", centre=(10, 10), semi_axes=(5, 5))
    builder.add_mark("i", "R1", "m2", centre=(10, 10), semi_axes=(5, 4), angle_deg=190, in_mm=True)
    marks = builder.build().marks
    assert marks.iloc[0].tolist()[3:] == pytest.approx([1.0, 2.0, 1.0, 0.5, 90.0])
    assert marks.iloc[1].tolist()[3:] == pytest.approx([10, 10, 5, 4, 10])


def test_columns_that_nobody_filled_are_left_out(builder):
    builder.add_mark("i", "R1", "m1", centre=(10, 10), semi_axes=(5, 5), label="nodule")
    built = builder.build()
    assert "label" in built.marks
    assert "confidence" not in built.marks
    assert list(built.images.columns) == ["image_id", "mm_per_px_x", "mm_per_px_y"]


def test_what_is_built_is_a_sound_study_also_without_marks(builder):
    built = builder.build()
    assert len(built.marks) == 0
    assert check_study(built.marks, built.readings, built.images) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mark_id": ""}, "without an id"),
        ({"centre": (math.nan, 1)}, "not finite"),
        ({"angle_deg": math.inf}, "not finite"),
        ({"semi_axes": (1, 0)}, "both must be positive"),
        ({"semi_axes": (-1, 1)}, "both must be positive"),
    ],
)
def test_marks_that_cannot_be_are_refused_with_their_place(builder, wrong, words):
    mark = {"mark_id": "m", "centre": (1, 1), "semi_axes": (1, 1)} | wrong
    with pytest.raises(FormatError, match=words) as raised:
        builder.add_mark("i", "R1", **mark, place="row 7")
    assert str(raised.value).startswith("f.xml, row 7: ")


def test_an_image_noted_twice_must_be_the_same(builder):
    builder.add_image("i")
    with pytest.raises(FormatError, match=r"occurs twice, with path  and b\.png"):
        builder.add_image("i", path="b.png")
    for call in (lambda: builder.add_image(""), lambda: builder.add_reading("i", "")):
        with pytest.raises(FormatError, match="without"):
            call()


def test_without_a_spacing_a_mark_in_pixels_is_refused_and_one_in_mm_is_not():
    builder = MarkSetBuilder("f.xml")
    builder.add_image("i")
    with pytest.raises(FormatError, match="states its pixel size"):
        builder.add_mark("i", "R1", "m", centre=(1, 1), semi_axes=(1, 1))
    builder.add_mark("i", "R1", "m", centre=(1, 1), semi_axes=(1, 1), in_mm=True)


def test_a_table_wins_over_one_number_and_that_over_the_file():
    table = pd.DataFrame(
        {"image_id": ["a", "b"], "mm_per_px_x": [0.5, math.nan], "mm_per_px_y": [0.5, math.nan]}
    )
    spacings = Spacings.of(0.1, table)
    assert [spacings.find(name) for name in ("a", "folder/a", "b", "c")] == [
        (0.5, 0.5),
        (0.5, 0.5),
        (0.1, 0.1),
        (0.1, 0.1),
    ]
    builder = MarkSetBuilder("f", Spacings())
    builder.add_image("i", mm_per_px=(0.3, 0.4))
    assert builder.build().images[["mm_per_px_x", "mm_per_px_y"]].iloc[0].tolist() == [0.3, 0.4]


@pytest.mark.parametrize("wrong", [0, -1.0, math.nan, (0.1, math.inf)])
def test_spacings_that_are_none(wrong):
    with pytest.raises(InvalidInputError, match="positive"):
        Spacings.of(wrong)


SIDE = st.integers(200, 4000)


@given(
    width=SIDE, height=SIDE, scale=st.floats(0.1, 8), rounding=st.sampled_from([round, math.floor, math.ceil])
)
@settings(deadline=None, max_examples=300, derandomize=True)
def test_a_copy_at_any_scale_is_known_by_its_rounded_sides(width, height, scale, rounding):
    stated = float(rounding(width * scale)), float(rounding(height * scale))
    actual = float(width), float(height)
    if stated == actual[::-1] != actual:
        return
    found = scale_of_copy(stated, actual)
    assert found is not None
    assert (stated[0] * found[0], stated[1] * found[1]) == pytest.approx(actual)


@pytest.mark.parametrize(
    ("stated", "actual"),
    [
        ((610, 500), (500, 610)),
        ((501, 500), (500, 501)),
        ((250, 308), (500, 610)),
        ((500, 500), (500, 610)),
        ((1000, 1223), (500, 610)),
    ],
)
def test_turned_and_cropped_pictures_are_not_copies(stated, actual):
    assert scale_of_copy(stated, actual) is None


def sized(scale: float | None = None) -> Spacings:
    row = {
        "image_id": ["i"],
        "mm_per_px_x": [0.1],
        "mm_per_px_y": [0.1],
        "width_px": [100.0],
        "height_px": [200.0],
    }
    return Spacings.of(images=pd.DataFrame(row), scale=scale)


def test_a_size_that_is_told_later_counts_and_another_one_is_refused():
    builder = MarkSetBuilder("f", sized())
    builder.add_image("i")
    builder.add_image("i", width=50, height=100)
    builder.add_image("i")
    builder.add_mark("i", "R", "m", centre=(10, 20), semi_axes=(5, 5))
    builder.add_mark("i", "R", "n", centre=(10, 20), semi_axes=(5, 5), in_mm=True)
    with pytest.warns(DataWarning, match="f: 1 marks on 1 images .* from 50 x 100 to 100 x 200 px"):
        marks = builder.build().marks
    assert marks[["x_mm", "y_mm", "semi_major_mm"]].to_numpy().tolist() == [[2, 4, 1], [10, 20, 5]]
    with pytest.raises(FormatError, match="occurs twice, with width_px 50"):
        builder.add_image("i", width=60, height=100)


def test_a_scale_is_the_users_where_no_size_tells_it():
    builder = MarkSetBuilder("f", sized(0.5))
    builder.add_image("i", width=100, height=200)
    builder.add_mark("i", "R", "m", centre=(10, 20), semi_axes=(6, 6))
    assert builder.build().marks["x_mm"].tolist() == [0.5]
    with pytest.raises(FormatError, match="Remove --scale"):
        MarkSetBuilder("f", sized(0.5)).add_image("i", width=50, height=100)
    with pytest.raises(InvalidInputError, match="positive number"):
        sized(math.nan)


def test_marks_within_the_first_pixel_are_fractions():
    builder = MarkSetBuilder("f", sized())
    builder.add_image("i")
    builder.add_mark("i", "R", "m", centre=(0.5, 1), semi_axes=(0.1, 0.1))
    with pytest.raises(FormatError, match="all 1 marks lie within the first pixel"):
        builder.build()
    builder.add_mark("i", "R", "n", centre=(1.5, 1), semi_axes=(0.1, 0.1))
    assert len(builder.build().marks) == 2


def test_counts_and_options():
    builder = MarkSetBuilder("f.xml")
    assert builder.leave_out(("box", "box", "polygon"), "i", "A", all_shapes=3)
    assert not builder.leave_out(("mask",), "i", "A", all_shapes=2)
    assert not builder.leave_out((), "j", "A", all_shapes=0)
    builder.notes["tasks without annotations"] += 1
    words = (
        r"f.xml: skipped: 2 boxes \(import with --boxes\), 1 polygon \(import as ellipses with --polygons ellipse\), "
        r"1 mask, 1 readings with nothing else, 1 tasks without annotations"
    )
    with pytest.warns(DataWarning, match=words):
        builder.build()
    assert builder.left_out == {("i", "A")}


@pytest.mark.parametrize(
    ("value", "number"), [("80", 80.0), ("0.8", 0.8), (4, 4.0), ("", math.nan), (None, math.nan)]
)
def test_confidence_is_the_attribute_of_that_name_as_it_stands(value, number):
    builder = MarkSetBuilder("f.xml")
    found = builder.confidence_in({"kind": "5", " Confidence": value})
    assert found == pytest.approx(number, nan_ok=True)
    assert not builder.notes


@pytest.mark.parametrize("value", ["high", "nan", "80 %", True, [1, 2], {"1": True}])
def test_a_confidence_that_is_not_a_number_is_counted(value):
    builder = MarkSetBuilder("f.xml")
    assert math.isnan(builder.confidence_in({"certainty": value}))
    assert list(builder.notes.values()) == [1]


def test_nothing_left_out_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MarkSetBuilder("f.xml").build()


BOMB = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "ha">%s]><a>&x9;</a>""" % b"".join(
    b'<!ENTITY x%d "%s">' % (level, b"&x%d;" % (level - 1) * 10 if level else b"&x;") for level in range(10)
)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not XML"),
        (b"<a><b></a>", "not XML"),
        (b"<a>", "not XML"),
        (b"\x89PNG\r\n", "not XML"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "not XML"),
        (BOMB, "document type or entities"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type or entities"),
        (b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a/>', "document type or entities"),
    ],
)
def test_hostile_xml_is_refused(tmp_path, raw, words):
    path = tmp_path / "export.xml"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_xml(path)
    assert "export.xml" in str(caught.value)


def test_two_million_nested_elements_cost_little(tmp_path):
    path = tmp_path / "deep.xml"
    path.write_bytes(b"<a>" * 2_000_000)
    tracemalloc.start()
    with pytest.raises(FormatError, match="nested deeper than 100"):
        read_xml(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_file_too_large_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_file, "LARGEST_FILE", 3)
    path = tmp_path / "export.xml"
    path.write_bytes(b"<a></a>")
    with pytest.raises(FormatError, match="more than"):
        read_xml(path)


@pytest.mark.parametrize("text", [None, "", "x", "nan", "inf", "1,5", "0x1"])
def test_numbers_in_xml_are_checked(text):
    with pytest.raises(FormatError, match="cx is"):
        number_in(text, "cx", "here")


def test_a_document_type_that_declares_nothing_is_harmless(tmp_path):
    """DIARETDB1's files begin so; the lines of messages stay the same."""
    path = tmp_path / "export.xml"
    path.write_bytes(b'<?xml version="1.0" standalone="no"?>\n<!DOCTYPE imgannotool>\n<a><b>1</b></a>')
    assert [element.tag for element in read_xml(path).iter()] == ["a", "b"]
    path.write_bytes(b"<!DOCTYPE a>\n<a>\n<b></a>")
    with pytest.raises(FormatError, match="line 3"):
        read_xml(path)


def test_wrong_types_name_their_place(tmp_path):
    path = tmp_path / "e.json"
    path.write_text('{"a": [{"n": "1", "t": 1, "b": true, "i": "", "none": null}]}')
    (node,) = read_node(path)["a"].items()
    for key, method in (("n", "number"), ("b", "number"), ("t", "text"), ("none", "text")):
        with pytest.raises(FormatError, match=rf"e\.json: \.a\[0\]\.{key}: "):
            getattr(node[key], method)()
    for key in ("b", "i"):
        with pytest.raises(FormatError, match=rf"\[0\]\.{key}"):
            node[key].identifier()
    with pytest.raises(FormatError, match="'absent' is missing"):
        node["absent"]
    with pytest.raises(FormatError, match="array"):
        list(node["n"].items())
    with pytest.raises(FormatError, match="instead of an object"):
        node["n"].mapping()
    assert node.get("none") is None
    assert node["t"].identifier() == "1"
