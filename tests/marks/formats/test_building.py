"""The builder refuses what cannot be and gives the tables in mm."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from overread.errors import FormatError, InvalidInputError
from overread.marks.formats.building import MarkSetBuilder, Spacings
from overread.tables.validation import check_study


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
    with pytest.raises(FormatError, match=r"is there twice, with path  and b\.png"):
        builder.add_image("i", path="b.png")
    for call in (lambda: builder.add_image(""), lambda: builder.add_reading("i", "")):
        with pytest.raises(FormatError, match="without"):
            call()


def test_without_a_spacing_a_mark_in_pixels_is_refused_and_one_in_mm_is_not():
    builder = MarkSetBuilder("f.xml")
    builder.add_image("i")
    with pytest.raises(FormatError, match="tells its mm per pixel"):
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
