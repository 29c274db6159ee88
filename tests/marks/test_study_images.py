"""Imported marks take the ids of the study's images; what the study left out stays out.

One image has one id, whatever it is called.
"""

import pandas as pd
import pytest

from overread.errors import DataWarning, TableError
from overread.marks import (
    FOUND_FILE,
    ImageNames,
    MarkSetBuilder,
    Spacings,
    StudyImages,
    check_image_files,
    ids_of_files,
    list_found_files,
    read_found,
    read_left_out,
    with_ids_of_files,
    without_ending,
)
from overread.marks._file_names import names_of
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
        DataWarning, match=r"skipped 1 marks on 1 images outside the study: 'c.dcm' \(truncated\)"
    ):
        found = study.adopt(marks_on("a", "c.dcm"))
    assert found.marks["image_id"].tolist() == ["a"]


def test_strangers_are_refused_or_dropped_on_request(study):
    with pytest.raises(TableError, match=r"no image has the name 'd' \(2 such images\).*--drop-unknown"):
        study.adopt(marks_on("a", "d", "e"))
    with pytest.warns(DataWarning, match="skipped 1 marks on 1 images outside the study: 'd'"):
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


@pytest.mark.parametrize(
    ("image_id", "names"),
    [
        ("a.png", ("a.png",)),
        ("data/up/a.png", ("data/up/a.png", "up/a.png", "a.png")),
        ("/data/0a1b2c3d-a.png", ("/data/0a1b2c3d-a.png", "data/0a1b2c3d-a.png", "0a1b2c3d-a.png", "a.png")),
        ("/data/local-files/?d=x/a%20b.png", ("/data/local-files/?d=x/a%20b.png", "x/a%20b.png", "a%20b.png",
                                              "x/a b.png", "a b.png")),
        ("C:\\scans\\a.png", ("C:\\scans\\a.png", "C:/scans/a.png", "scans/a.png", "a.png")),
        ("0A1B2C3D-a.png", ("0A1B2C3D-a.png",)),
        ("0a1b2c3-a.png", ("0a1b2c3-a.png",)),
    ],
)  # fmt: skip
def test_the_surest_name_comes_first(image_id, names):
    assert names_of(image_id) == names


@pytest.mark.parametrize(
    ("path", "expected"), [("a/b.PNG", "b"), ("1.2.840.3", "1.2.840.3"), ("x.y.dicom", "x.y"), ("z", "z")]
)
def test_only_endings_of_images_are_taken_off(path, expected):
    assert without_ending(path) == expected


def test_ids_are_names_and_paths_where_names_repeat():
    assert ids_of_files(["p1/a.png", "p2/a.dcm", "p2/b.dcm", "1.2.3"]) == [
        "p1/a.png",
        "p2/a.dcm",
        "b",
        "1.2.3",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "CXR_001",
        "CXR_001.dcm",
        "images/CXR_001.dcm",
        "/mnt/elsewhere/CXR_001.png",
        "/data/upload/7/0a1b2c3d-CXR_001.png",
        "/data/local-files/?d=ls/CXR_001.png",
        "D:\\export\\CXR_001.PNG",
        "cxr_001.DCM",
    ],
)
def test_all_names_of_an_image_give_its_id(name):
    assert (
        ImageNames({"CXR_001": "images/CXR_001.dcm", "CXR_002": "images/CXR_002.dcm"}).find(name) == "CXR_001"
    )


def test_strangers_are_not_found():
    names = ImageNames({"CXR_001": "a/CXR_001.dcm"})
    assert names.find("CXR_01") is None
    assert names.find("CXR_001_2.dcm") is None
    assert ImageNames({}).find("a") is None


def test_two_images_that_fit_are_both_named():
    names = ImageNames({"p1/a": "p1/a.dcm", "p2/a": "p2/a.dcm"}, "images.csv")
    assert names.find("p2/a.dcm") == "p2/a"
    assert names.find("scans/p2/a.dcm") == "p2/a"
    with pytest.raises(TableError, match=r"'a.dcm' may be 'p1/a' or 'p2/a' of images.csv"):
        names.find("a.dcm")


def test_folders_that_disagree_tell_images_apart():
    names = ImageNames({"p1/001": ""})
    assert names.find("p2/001") is None
    assert names.find("001") == "p1/001"


def test_an_exact_id_wins_over_a_similar_one():
    names = ImageNames({"a": "b.png", "b": "a.png"})
    assert names.find("a") == "a"
    assert names.find("a.png") == "b"


def test_two_names_of_one_image_are_refused_in_one_file():
    names = ImageNames({"a": ""})
    assert names.find_all(["a.png", "x"]) == {"a.png": "a"}
    with pytest.raises(TableError, match=r"'a.png' and 'x/a.dcm' both match the id 'a'"):
        names.find_all(["a.png", "x/a.dcm"])
