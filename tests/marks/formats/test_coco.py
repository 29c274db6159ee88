"""COCO boxes."""

import json

import pytest

from overread.errors import FormatError, UsageError
from overread.marks import MarkSet, Spacings
from overread.marks.formats import coco

FILE = {
    "images": [
        {"id": 1, "file_name": "a.png", "width": 100, "height": 200, "readers": ["R1", "R2"]},
        {"id": 2, "file_name": "b.png", "width": 100, "height": 200, "readers": ["R2"]},
    ],
    "categories": [{"id": 5, "name": "nodule"}],
    "annotations": [
        {"id": 9, "image_id": 1, "category_id": 5, "bbox": [10, 20, 30, 40], "rad_id": "R1", "score": 0.5}
    ],
}


def read(tmp_path, content: object, **options) -> MarkSet:
    path = tmp_path / "coco.json"
    path.write_text(json.dumps(content))
    return coco.read(path, spacings=Spacings.of(0.5), **options)


def test_one_readers_file(tmp_path):
    found = read(tmp_path, FILE, reader="R7")
    columns = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg", "confidence"]
    assert found.marks[columns].to_numpy().tolist() == [[12.5, 20, 10, 7.5, 90, 0.5]]
    assert found.marks[["image_id", "reader_id", "mark_id", "label"]].iloc[0].tolist() == [
        "a.png",
        "R7",
        "R7/9",
        "nodule",
    ]
    assert found.readings.to_numpy().tolist() == [["a.png", "R7"], ["b.png", "R7"]]


def test_readers_by_key(tmp_path):
    found = read(tmp_path, FILE, reader_key="rad_id", readings_key="readers")
    assert found.marks["reader_id"].tolist() == ["R1"]
    assert found.readings.to_numpy().tolist() == [["a.png", "R1"], ["a.png", "R2"], ["b.png", "R2"]]


def test_readings_are_never_guessed(tmp_path):
    for options in ({}, {"reader": "R", "reader_key": "rad_id"}):
        with pytest.raises(UsageError, match="COCO files do not state the reader"):
            read(tmp_path, FILE, **options)
    with pytest.raises(UsageError, match=r"who read which image.*--all-read-all.*--readings-key"):
        read(tmp_path, FILE, reader_key="rad_id")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"annotations": [{"id": 1, "image_id": 3, "bbox": [1, 2, 3, 4]}]}, "no image '3'"),
        ({"annotations": [{"id": 1, "image_id": 1, "bbox": [1, 2, 3]}]}, "3 numbers"),
        ({"annotations": [{"id": 1, "image_id": 1, "bbox": [1, 2, 0, 4]}]}, "semi-axes"),
        ({"images": FILE["images"] * 2}, "twice"),
        ({"images": {}}, r"coco\.json: \.images: an object instead of an array"),
    ],
)
def test_wrong_files_are_refused(tmp_path, changes, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, FILE | changes, reader="R1")
