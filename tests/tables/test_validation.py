"""Every case of bad marks and labels is found, named, and graded.

Spellings of one name, against Unicode's own names of the letters.

Problems are told with place and remedy; the worst kind decides what is raised.
"""

import json
import unicodedata
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.errors import LeakageError, TableError
from overread.images import _spacing as spacing
from overread.tables import (
    Problem,
    check_candidates,
    check_images,
    check_marks,
    check_readings,
    check_study,
    likeness_of,
    named,
    one_per_kind,
    plain,
    raise_for_errors,
    raise_or_warn,
    visible_text,
)
from overread.tables import _checks as validation
from overread.tables._problems import SHOWN
from overread.tables._spelling import LOOK_ALIKE, same_name


def marks(**changes) -> pd.DataFrame:
    columns = {
        "image_id": ["i", "i"],
        "reader_id": ["R1", "R2"],
        "mark_id": ["1", "2"],
        "x_mm": [10.0, 20.0],
        "y_mm": [10.0, 20.0],
        "semi_major_mm": [5.0, 5.0],
        "semi_minor_mm": [4.0, 4.0],
        "angle_deg": [0.0, 90.0],
    }
    return pd.DataFrame(columns | changes)


def readings(*pairs: tuple[str, str]) -> pd.DataFrame:
    return pd.DataFrame(list(pairs or [("i", "R1"), ("i", "R2")]), columns=["image_id", "reader_id"]).astype(
        "str"
    )


def images(**changes) -> pd.DataFrame:
    columns = {
        "image_id": ["i"],
        "mm_per_px_x": [0.1],
        "mm_per_px_y": [0.2],
        "width_px": [1000.0],
        "height_px": [500.0],
    }
    return pd.DataFrame(columns | changes)


def places(problems: list[Problem]) -> list[tuple[int | None, str | None, str]]:
    return [(problem.row, problem.column, problem.severity) for problem in problems]


def validated(check, *tables) -> list[Problem]:
    """Warnings of a check whose errors are raised."""
    return raise_for_errors(check(*tables))


def test_a_good_study_has_no_problem():
    assert check_study(marks(), readings(), images()) == []


@pytest.mark.parametrize("column", ["semi_major_mm", "semi_minor_mm"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_an_axis_must_be_positive(column, value):
    bad = marks(**{column: [5.0, value]})
    assert places(check_marks(bad)) == [(3, column, "error")]
    with pytest.raises(TableError, match=f"row 3, column {column}"):
        validated(check_marks, bad)


def test_a_tiny_axis_is_a_warning():
    found = validated(check_marks, marks(semi_minor_mm=[4.0, 1e-9]))
    assert places(found) == [(3, "semi_minor_mm", "warning")]


@pytest.mark.parametrize("column", ["x_mm", "y_mm", "angle_deg"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_centres_and_angles_must_be_finite(column, value):
    assert places(check_marks(marks(**{column: [value, 1.0]}))) == [(2, column, "error")]


@pytest.mark.parametrize("column", ["mm_per_px_x", "mm_per_px_y", "width_px", "height_px"])
@pytest.mark.parametrize("value", [0.0, -0.1, np.inf])
def test_a_spacing_or_size_must_be_positive(column, value):
    with pytest.raises(TableError, match=f"row 2, column {column}"):
        validated(check_images, images(**{column: [value]}))


def test_spacing_as_text_is_an_error():
    with pytest.raises(TableError, match="mm_per_px_x: the column does not hold numbers"):
        validated(check_images, images(mm_per_px_x=["0,143"]))


def test_spacing_in_one_direction_only():
    assert places(check_images(images(mm_per_px_y=[np.nan]))) == [(2, "mm_per_px_y", "error")]


def test_spacing_may_be_left_out():
    assert check_images(images(mm_per_px_x=[np.nan], mm_per_px_y=[np.nan])) == []
    assert check_images(pd.DataFrame({"image_id": ["i"]})) == []


def test_one_image_id_for_two_images():
    twice = pd.DataFrame({"image_id": ["i", "j", "i"], "path": ["a.png", "b.png", "c.png"]})
    found = check_images(twice)
    assert places(found) == [(4, "image_id", "error")]
    assert "already in row 2, there with another path" in found[0].message


def test_one_mark_id_for_marks_of_two_readers():
    twice = marks(mark_id=["1", "1"])
    (found,) = check_marks(twice)
    assert found.remedy == "number the marks of an image through, whoever made them"


def test_a_patient_in_two_splits_is_leakage():
    table = pd.DataFrame(
        {
            "image_id": list("abcd"),
            "patient_id": ["P", "P", "", ""],
            "split": ["train", "test", "train", "test"],
        }
    )
    assert places(check_images(table)) == [(3, "split", "leakage")]
    with pytest.raises(LeakageError, match="patient 'P'"):
        validated(check_images, table)
    with pytest.raises(TableError):
        validated(check_images, table.assign(mm_per_px_x=0.0, mm_per_px_y=0.0))


def test_a_mark_by_a_reader_without_a_reading():
    found = check_marks(marks(), readings(("i", "R1")))
    assert places(found) == [(3, "reader_id", "error")]
    with pytest.raises(TableError, match="without a reading"):
        validated(check_marks, marks(), readings(("i", "R1")))


def test_an_image_without_a_reading():
    two = pd.DataFrame({"image_id": ["i", "j"]})
    found = check_readings(readings(), two)
    assert places(found) == [(None, "image_id", "error")]
    assert "'j' has 0 readings" in found[0].message
    with pytest.raises(TableError):
        validated(check_readings, readings(), two)


def test_a_reading_or_mark_of_an_image_that_is_not_listed():
    other = pd.DataFrame({"image_id": ["other"]})
    assert (2, "image_id", "error") in places(check_readings(readings(), other))
    assert (3, "image_id", "error") in places(check_marks(marks(), None, other))


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (99.9, 99.9, []),
        (100.1, 50.0, [(2, "x_mm", "warning")]),
        (-0.1, 50.0, [(2, "x_mm", "warning")]),
        (50.0, 150.0, [(2, "y_mm", "warning")]),
        (250.0, 50.0, [(2, "x_mm", "error")]),
        (50.0, -150.0, [(2, "y_mm", "error")]),
        (5000.0, 5000.0, [(2, "x_mm", "error"), (2, "y_mm", "error")]),
    ],
)
def test_marks_outside_their_image(x, y, expected):
    found = check_marks(marks(x_mm=[x, 1.0], y_mm=[y, 1.0]), None, images())
    assert places(found) == expected
    assert all("percent exported as pixels" in problem.remedy for problem in found)


def test_ids_that_are_no_text_or_repeated():
    assert places(check_marks(marks(mark_id=["1", "1"]))) == [(3, "mark_id", "error")]
    assert places(check_marks(marks(mark_id=[1, 2]))) == [(2, "mark_id", "error"), (3, "mark_id", "error")]
    assert places(check_readings(readings(("i", "R"), ("i", "R")))) == [(3, "reader_id", "error")]


def test_missing_columns_are_named():
    with pytest.raises(TableError, match="column angle_deg: the column is missing"):
        validated(check_marks, marks().drop(columns="angle_deg"))
    with pytest.raises(TableError, match="reader_id"):
        validated(check_readings, pd.DataFrame({"image_id": ["i"]}))
    with pytest.raises(TableError, match="image_id"):
        validated(check_images, pd.DataFrame({"path": ["i"]}))


def test_spacings_that_no_radiograph_has_are_warned_of():
    images = pd.DataFrame(
        {"image_id": list("abcd"), "mm_per_px_x": [0.143, 143.0, 0.2, 0.001], "mm_per_px_y": [0.143] * 4}
    )
    (problem,) = check_images(images)
    assert (problem.row, problem.column, problem.severity) == (3, "mm_per_px_x", "warning")
    assert "143 mm per pixel (2 rows)" in problem.message


def test_the_bounds_of_spacings_are_those_of_reading():
    assert (validation.SMALLEST_MM, validation.LARGEST_MM) == (spacing.SMALLEST_MM, spacing.LARGEST_MM)


@pytest.mark.parametrize(
    ("place", "told"),
    [*((place, "outside an image of any size") for place in (-1e308, 1e6)), (9000.0, None)],
)
def test_a_centre_that_lies_in_no_image_is_an_error_without_sizes_too(place, told):
    marks = pd.DataFrame(
        {"image_id": ["a"], "reader_id": ["r"], "mark_id": ["m"], "x_mm": [place], "y_mm": [1.0]}
        | {"semi_major_mm": [5.0], "semi_minor_mm": [5.0], "angle_deg": [0.0]}
    )
    problems = check_marks(marks)
    assert [told in problem.message for problem in problems] == ([] if told is None else [True])


def one_mark(axis: float) -> pd.DataFrame:
    return pd.DataFrame(
        {"image_id": ["a"], "reader_id": ["r"], "mark_id": ["m"], "x_mm": [1.0], "y_mm": [1.0]}
        | {"semi_major_mm": [axis], "semi_minor_mm": [5.0], "angle_deg": [0.0]}
    )


@pytest.mark.parametrize(
    ("axis", "told"),
    [(501.0, "more than 500 mm"), *((axis, "longer than any image") for axis in (1e5, 1e154, 1e308))],
)
def test_an_ellipse_larger_than_any_radiograph_is_an_error(axis, told):
    (problem,) = check_marks(one_mark(axis))
    assert (problem.column, problem.severity) == ("semi_major_mm", "error")
    assert told in problem.message


@pytest.mark.parametrize(("axis", "n_problems"), [(5e-4, 0), (300.0, 0), (600.0, 0), (2e4, 1)])
def test_lengths_in_pixels_know_no_radiograph(axis, n_problems):
    pixels = pd.DataFrame({"image_id": ["a"], "mm_per_px_x": [1.0], "mm_per_px_y": [1.0]})
    assert len(check_marks(one_mark(axis), images=pixels)) == n_problems
    in_px = one_mark(axis / 100 if n_problems == 0 else 2e6)
    assert len(check_marks(named(plain(in_px)[0], "px"))) == n_problems
    assert len(check_marks(one_mark(axis), images=pixels.assign(mm_per_px_x=0.5))) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [(name, value) for name in ("x_mm", "y_mm") for value in (1e300, -np.inf, np.nan)]
    + [("radius_mm", value) for value in (0.0, -1.0, 1e4, np.inf, np.nan)]
    + [("response", value) for value in (np.inf, np.nan)],
)
def test_candidates_that_cannot_be(column, value):
    candidates = pd.DataFrame(
        {"x_mm": [1.0] * 2, "y_mm": [1.0] * 2, "radius_mm": [3.0] * 2, "response": [0.0] * 2}
    )
    assert check_candidates(candidates) == []
    candidates.loc[1, column] = value
    (problem,) = check_candidates(candidates)
    assert (problem.row, problem.column, problem.severity) == (3, column, "error")


@pytest.mark.parametrize(
    ("angles", "told"),
    [
        ([0.3, 1.5708, 3.1], True),
        ([0.3, 1.5708, 30.0], False),
        ([1.0, 2.0, 3.0], False),
        ([1.57, 1.57, 0.0], False),
    ],
)
def test_angles_of_a_table_that_look_like_radians_are_warned_of(angles, told):
    drawn = pd.concat([one_mark(8.0).assign(mark_id=str(k), x_mm=9.0 * k) for k in range(3)])
    problems = check_marks(drawn.assign(angle_deg=angles).reset_index(drop=True))
    assert [problem.severity for problem in problems] == ["warning"] * told


def test_a_mark_that_one_reader_has_twice_is_warned_of():
    drawn = pd.concat([one_mark(8.0).assign(mark_id=name) for name in "mn"], ignore_index=True)
    (problem,) = check_marks(drawn)
    assert (problem.row, problem.severity) == (3, "warning")
    assert check_marks(drawn.assign(reader_id=["r", "s"])) == []
    assert check_marks(drawn.assign(label=["x", "y"])) == []


def test_look_alike_letters_are_of_another_script_and_of_the_same_case():
    for letter, latin in LOOK_ALIKE.items():
        name = unicodedata.name(chr(letter))
        assert name.startswith(("CYRILLIC", "GREEK"))
        assert ("CAPITAL" in name) == chr(latin).isupper()
        assert unicodedata.name(chr(latin)).startswith("LATIN")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", "01"),
        ("10", "0010.00"),
        ("0", "00"),
        ("é", "e\u0301"),
        ("A\u200b", "A"),
        ("１", "1"),
    ],
)
def test_one_name_in_two_spellings(one, other):
    assert same_name(one) == same_name(other)
    assert likeness_of(one) == likeness_of(other)


@pytest.mark.parametrize(("one", "other"), [("Ann", "ANN"), ("Ann B", "Ann  b"), ("А", "A"), ("Вob", "Bob")])
def test_names_that_look_alike(one, other):
    assert same_name(one) != same_name(other)
    assert likeness_of(one) == likeness_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "10"), ("1", "1.5"), ("R1", "R01"), ("e", "é"), ("1", "-1")]
)
def test_different_names_stay_different(one, other):
    assert likeness_of(one) != likeness_of(other)


def test_what_does_not_show_is_taken_away():
    assert visible_text("Anne\u0301\u200b\ufeff") == "Ann\xe9"
    assert visible_text("Анна") == "Анна"


ERROR = Problem("f.csv", 2, "x_mm", "is bad", "mend it")
WARNING = replace(ERROR, severity="warning")
LEAK = replace(ERROR, severity="leakage")


def test_a_problem_reads_as_a_sentence():
    problem = Problem("marks.csv", 7, "x_mm", "0 is wrong", "give another")
    assert str(problem) == "marks.csv, row 7, column x_mm: 0 is wrong (give another)"
    assert str(Problem("marks.csv", None, None, "bad", "mend it")) == "marks.csv: bad (mend it)"
    assert raise_for_errors([]) == []


def test_an_error_outweighs_leakage_and_leakage_a_warning():
    with pytest.raises(TableError):
        raise_for_errors([WARNING, LEAK, ERROR])
    with pytest.raises(LeakageError):
        raise_for_errors([WARNING, LEAK])
    assert raise_for_errors([WARNING]) == [WARNING]
    assert raise_for_errors([]) == []


def test_problems_of_one_kind_are_one_line_with_their_number():
    many = [replace(ERROR, row=row, column=f"c{row % 2}") for row in range(2, 1203)]
    with pytest.raises(TableError) as raised:
        raise_for_errors(many)
    assert str(raised.value).splitlines() == [
        "f.csv, row 2, column c0: is bad, and 600 more like it (mend it)",
        "f.csv, row 3, column c1: is bad, and 599 more like it (mend it)",
    ]


def test_the_first_few_kinds_are_named_and_the_others_counted():
    many = [replace(ERROR, column=f"c{number}") for number in range(SHOWN + 3)]
    with pytest.raises(TableError) as raised:
        raise_for_errors(many)
    lines = str(raised.value).splitlines()
    assert lines[:SHOWN] == [str(problem) for problem in many[:SHOWN]]
    assert lines[SHOWN:] == ["... and 3 more kinds of problem (`overread check` lists all of a study)"]


def test_warnings_are_given_once_per_kind():
    with pytest.warns(UserWarning, match="f.csv, row 2, column x_mm: is bad, and 1 more like it") as caught:
        raise_or_warn([WARNING, WARNING])
    assert len(caught) == 1
    raise_or_warn([])


def test_a_problem_goes_into_json_as_it_is():
    assert Problem(**json.loads(json.dumps(ERROR.as_dict()))) == ERROR


def test_other_reasons_with_the_same_remedy_are_not_called_alike():
    found = [
        Problem("images", row, "path", message, "drop it", "warning")
        for row, message in enumerate(
            ["the file is empty", "no DICOM", "'a.png' has 3 bytes", "'b.png' has 17 bytes"]
        )
    ]
    assert [problem.message for problem in one_per_kind(found)] == [
        "the file is empty",
        "no DICOM",
        "'a.png' has 3 bytes, and 1 more like it",
    ]
