"""One image has one id, whatever it is called."""

import pytest

from overread.errors import TableError
from overread.marks import ImageNames, ids_of_files, without_ending
from overread.marks._file_names import names_of


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
    with pytest.raises(TableError, match=r"'a.png' and 'x/a.dcm' both go by the id 'a'"):
        names.find_all(["a.png", "x/a.dcm"])
