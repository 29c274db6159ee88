"""Imported marks take the ids of the study's images; what the study left out stays out."""

import pandas as pd
import pytest

from overread.errors import DataWarning, TableError
from overread.marks import (
    FOUND_FILE,
    MarkSetBuilder,
    Spacings,
    StudyImages,
    check_image_files,
    list_found_files,
    read_found,
    read_left_out,
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


def test_missing_files(tmp_path):
    for name, content in (("a", b"xx"), ("b", b"xx"), ("c", b"yy"), ("d", b"xx")):
        (tmp_path / name).write_bytes(content)
    images = pd.DataFrame(
        {
            "image_id": ["1", "2", "3", "4", "5", "6"],
            "path": ["a", "b", "c", "d", "gone", ""],
            "split": ["train", "test", "test", "train", "train", "train"],
        }
    )
    found = check_image_files(images, tmp_path)
    assert [(problem.row, problem.severity) for problem in found] == [(7, "warning"), (6, "warning")]
    assert "1 of 6 images have no path" in found[0].message


def test_no_paths_is_a_warning(tmp_path):
    (problem,) = check_image_files(pd.DataFrame({"image_id": ["1"]}), tmp_path)
    assert (problem.column, problem.severity) == ("path", "warning")


def test_the_table_comes_back_and_may_be_empty(tmp_path):
    assert read_found(tmp_path) is None
    assert read_left_out(tmp_path) == {}
    path = write_table(
        list_found_files(["c.dcm"], {"b.dcm": "broken", "a.dcm": "lateral, twice"}), tmp_path / FOUND_FILE
    )
    assert path.read_text().splitlines() == [
        "path,step,reason",
        'a.dcm,init,"lateral, twice"',
        "b.dcm,init,broken",
        "c.dcm,,",
    ]
    assert read_left_out(tmp_path) == {"a.dcm": "lateral, twice", "b.dcm": "broken"}
    assert read_found(tmp_path) == {"a.dcm": "lateral, twice", "b.dcm": "broken", "c.dcm": ""}
    write_table(list_found_files([], {}), tmp_path / FOUND_FILE)
    assert read_left_out(tmp_path) == {}
