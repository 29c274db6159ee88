"""Imported marks take the ids of the study's images; what the study left out stays out."""

import pandas as pd
import pytest

from overread.errors import DataWarning, TableError
from overread.marks import (
    FOUND_FILE,
    MarkSetBuilder,
    Spacings,
    StudyImages,
    list_found_files,
    with_ids_of_files,
)
from overread.tables import write_table


def marks_on(*images):
    builder = MarkSetBuilder("f", Spacings.of(1.0))
    for image in images:
        builder.add_image(image)
        builder.add_reading(image, "R")
        builder.add_mark(image, "R", "m", centre=(5, 5), semi_axes=(1, 1))
    return builder.build()


@pytest.fixture
def study(tmp_path):
    table = pd.DataFrame({"image_id": ["a", "b"], "path": ["x/a.dcm", "x/b.dcm"]}, dtype="str")
    write_table(list_found_files(table["path"], {"x/c.dcm": "truncated"}), tmp_path / FOUND_FILE)
    return StudyImages.read(write_table(table, tmp_path / "images.csv"))


def test_marks_take_the_ids_of_the_table(study):
    found = study.adopt(marks_on("a.png", "/data/upload/1/01234567-b.png"))
    for table in (found.marks, found.readings, found.images):
        assert table["image_id"].tolist() == ["a", "b"]


def test_what_the_study_left_out_is_counted_with_its_reason(study):
    with pytest.warns(
        DataWarning, match=r"left out 1 marks of 1 images outside the study: 'c.dcm' \(truncated\)"
    ):
        found = study.adopt(marks_on("a", "c.dcm"))
    assert found.marks["image_id"].tolist() == ["a"]


def test_strangers_are_refused_or_dropped_on_request(study):
    with pytest.raises(TableError, match=r"no image goes by 'd' \(2 such images\).*--drop-unknown"):
        study.adopt(marks_on("a", "d", "e"))
    with pytest.warns(DataWarning, match="left out 1 marks"):
        assert len(study.adopt(marks_on("a", "d"), drop_unknown=True).marks) == 1


def test_without_a_table_ids_are_those_of_init():
    one, two = with_ids_of_files([marks_on("up/a.png", "p/b.png"), marks_on("up/a.png", "q/b.png")])
    assert one.marks["image_id"].tolist() == ["a", "p/b.png"]
    assert two.marks["image_id"].tolist() == ["a", "q/b.png"]
