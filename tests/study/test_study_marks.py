"""Marks of a study as its run merges them."""

from pathlib import Path

import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.marks import MarkSet
from overread.study import take_study_marks
from overread.tables import plain
from overread.truth import LabelOptions, MergeOptions, merge_marks

MARKS = pd.DataFrame(
    {
        "image_id": ["a"] * 4,
        "reader_id": ["r", "s", "r", "s"],
        "mark_id": ["1", "2", "3", "4"],
        "x_mm": [100.0, 104.0, 300.0, 304.0],
        "y_mm": 50.0,
        "semi_major_mm": 20.0,
        "semi_minor_mm": 20.0,
        "angle_deg": 0.0,
        "label": ["dot", "bleeding", "disc", "disc"],
    }
)
READINGS = pd.DataFrame({"image_id": "a", "reader_id": ["r", "s"]})
IMAGES = pd.DataFrame(
    {
        "image_id": ["a"],
        "width_px": [1500.0],
        "height_px": [1000.0],
        "mm_per_px_x": [1.0],
        "mm_per_px_y": [1.0],
    }
)
TABLES = MarkSet(MARKS, READINGS, IMAGES)
SETTINGS = """
[region]
kind = "all"
[units]
unit = "{unit}"
[merging]
t0 = 0.5
[labels]
groups = {{red = ["dot", "bleeding"]}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(SETTINGS.format(unit="px"))
    return tmp_path


def test_without_settings_marks_are_as_they_are(tmp_path: Path) -> None:
    for place in (None, tmp_path):
        found = take_study_marks(place, TABLES)
        assert found.tables.marks.equals(plain(TABLES.marks)[0])
        assert (found.options, found.labels, found.unit) == (MergeOptions(), LabelOptions(), "mm")


def test_group_unit_and_merging_are_those_of_the_settings(folder: Path) -> None:
    found = take_study_marks(folder, TABLES)
    assert found.tables.marks["label"].tolist() == ["red", "red"]
    assert (found.unit, found.options.t0) == ("px", 0.5)
    assert found.options.full_size == pytest.approx(200.0)
    (row,) = merge_marks(
        found.tables.marks, found.tables.readings, options=found.options, unit=found.unit
    ).itertuples()
    assert row.n_readers == 2


def test_labels_that_are_no_group_stay_apart(folder: Path) -> None:
    assert len(merge_marks(MARKS, READINGS)) == 3
    (folder / "study.toml").write_text('[region]\nkind = "all"\n[units]\nunit = "percent"\n')
    found = take_study_marks(folder, TABLES)
    assert found.tables.marks["x"].tolist() == pytest.approx([100 / 15, 104 / 15, 20.0, 304 / 15])
    assert found.tables.images["mm_per_px_x"].tolist() == pytest.approx([1 / 15])
    assert found.unit == "percent"


def test_what_is_asked_for_counts_more_than_the_settings(folder: Path) -> None:
    asked = take_study_marks(folder, TABLES, MergeOptions(same_reader_hits=True))
    assert asked.options.same_reader_hits
    assert asked.options.t0 == 0.5
    assert take_study_marks(folder, TABLES, MergeOptions(t0=0.4)).options.t0 == 0.4


def test_settings_that_do_not_fit_are_refused_by_name(folder: Path) -> None:
    (folder / "study.toml").write_text(SETTINGS.format(unit="px").replace('"dot"', '"spot"'))
    with pytest.raises(InvalidInputError, match="no mark has the label 'spot'"):
        take_study_marks(folder, TABLES)
