"""Boxes of COCO, MONAI and nnDetection files, and what hostile files get."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import FormatError
from overread.marks import read_box_file
from overread.marks.formats._readers import JsonNode
from overread.marks.formats.coco import corners

COCO = [{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.9}]
COCO_TRUTH = {
    "images": [{"id": 7}, {"id": 8}],
    "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "iscrowd": 0}],
}
MONAI = {
    "validation": [
        {"image": "/data/a.nii.gz", "box": [[1, 2, 3, 5]], "label": [0], "score": [0.5]},
        {"image": "/data/b.nii.gz", "box": [], "label": [], "score": []},
    ]
}


def written(folder, content, name="found.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_coco_results(tmp_path):
    found = read_box_file(written(tmp_path, COCO))
    assert (found.format, found.images) == ("coco", None)
    (box,) = found.boxes
    assert (box.image_id, box.corners, box.score, box.label) == ("7", (10, 20, 40, 60), 0.9, "1")


def test_coco_ground_truth_lists_images_without_lesions(tmp_path):
    found = read_box_file(written(tmp_path, COCO_TRUTH))
    assert found.images == ("7", "8")
    assert found.boxes[0].score is None


def test_monai_tutorial_and_bundle(tmp_path):
    found = read_box_file(written(tmp_path, MONAI), box_mode="xyxy")
    assert found.images == ("a", "b")
    assert found.boxes[0].corners == (1, 2, 3, 5)
    bundle = [{"image": "c.png", "box": [[4, 5, 2, 2]], "label": [0], "label_scores": [0.25]}]
    (box,) = read_box_file(written(tmp_path, bundle), box_mode="ccwh").boxes
    assert (box.image_id, box.corners, box.score) == ("c", (3, 4, 5, 6), 0.25)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.tuples(*[st.floats(-100, 100)] * 2), st.tuples(*[st.floats(0.1, 100)] * 2))
def test_all_box_modes_mean_the_same_box(low, size):
    (x, y), (w, h) = low, size
    same = {
        "xyxy": [x, y, x + w, y + h],
        "xxyy": [x, x + w, y, y + h],
        "xywh": [x, y, w, h],
        "ccwh": [x + w / 2, y + h / 2, w, h],
    }
    for mode, box in same.items():
        np.testing.assert_allclose(corners(JsonNode(box, "here"), mode), (x, y, x + w, y + h), atol=1e-9)


def nndetection_box(mask):
    """The box nnDetection makes of an object: one before the first index to one past the last, by axis."""
    rows, columns = np.nonzero(mask)
    return [int(rows.min()) - 1, int(columns.min()) - 1, int(rows.max()) + 1, int(columns.max()) + 1]


def test_nndetection_boxes_are_array_axes_with_a_margin(tmp_path):
    mask = np.zeros((20, 30), dtype=bool)
    mask[3:6, 10:20] = True
    top, left, bottom, right = nndetection_box(mask)
    flat = {"pred_boxes": [[top, left, bottom, right]], "pred_scores": [0.5], "pred_labels": [0]}
    one_slice = {"pred_boxes": [[-1, top, 1, bottom, left, right]], "pred_scores": [0.5], "pred_labels": [0]}
    nii = {"1": {"score": 0.5, "label": 0, "box": [top, left, bottom, right]}}
    for content, name in (
        (flat, "case7_boxes.json"),
        (nii, "case7_boxes.json"),
        ({"case7": one_slice}, "all.json"),
    ):
        found = read_box_file(written(tmp_path, content, name))
        assert (found.format, found.images) == ("nndetection", ("case7",))
        assert found.boxes[0].corners == (10, 3, 20, 6)


def test_nndetection_case_without_boxes_is_an_image(tmp_path):
    found = read_box_file(written(tmp_path, {"a": {"pred_boxes": [], "pred_scores": []}}))
    assert (found.images, found.boxes) == (("a",), ())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not JSON"),
        ('[{"image_id": 1', "not JSON"),
        ("\x00\x01", "not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ('[{"image_id": 1, "bbox": [0, 0, 1, 1], "score": NaN}]', "NaN"),
        ('[{"image_id": 1, "bbox": [0, 0, 1, 1], "score": 1e999}]', r"1e999 is too large"),
        ("[]", "not recognized as COCO, MONAI or nnDetection"),
        ("3", "not recognized as COCO, MONAI or nnDetection"),
        ([{"bbox": [0, 0, 1, 1], "score": 1}], "'image_id' is missing"),
        ([{"image_id": 1.5, "bbox": [0, 0, 1, 1], "score": 1}], "'1.5' instead of text"),
        ([{"image_id": True, "bbox": [0, 0, 1, 1], "score": 1}], "true instead of text"),
        ([{"image_id": 1, "bbox": [0, 0, 1], "score": 1}], "4 numbers, not 3"),
        ([{"image_id": 1, "bbox": [0, 0, -1, 1], "score": 1}], "sides -1 x 1"),
        ([{"image_id": 1, "bbox": [0, 0, 1, "1"], "score": 1}], "'1' instead of a number"),
        ([{"image_id": 1, "bbox": [0, 0, 1, 1], "score": "0.9"}], "'0.9' instead of a number"),
        ([{"image_id": 1, "bbox": {"x": 1}, "score": 1}], "an object instead of an array"),
        ({"images": [{"id": 1}, {"id": 1}], "annotations": []}, "listed twice"),
        (
            {"images": [{"id": 1}], "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1], "iscrowd": 1}]},
            "crowd",
        ),
        ({"a": {"pred_boxes": [[0, 0, 5, 5]], "pred_scores": []}}, "1 boxes, 0 scores"),
        ({"a": {"pred_boxes": [[3, 0, 9, 5, 2, 8]], "pred_scores": [1]}}, "several slices"),
        ({"a": {"pred_boxes": [[0, 0, 5]], "pred_scores": [1]}}, "not 3"),
        ({"a": {"pred_boxes": [], "pred_scores": []}, "b": 3}, r"\.b: '3' instead of an object"),
    ],
)
def test_hostile_files_are_refused(tmp_path, content, words):
    with pytest.raises(FormatError, match=words):
        read_box_file(written(tmp_path, content))


def test_refusals_of_monai(tmp_path):
    path = written(tmp_path, MONAI)
    with pytest.raises(FormatError, match="box mode"):
        read_box_file(path)
    with pytest.raises(FormatError, match="unknown box mode"):
        read_box_file(path, box_mode="xyz")
    three_d = {"test": [{"image": "a", "box": [[0, 0, 0, 1, 1, 1]], "score": [1], "label": [0]}]}
    with pytest.raises(FormatError, match="3-D"):
        read_box_file(written(tmp_path, three_d), box_mode="xyxy")
    twice = [{"image": f"{folder}/a.png", "box": [], "label": [], "score": []} for folder in "xy"]
    with pytest.raises(FormatError, match="'a' is listed twice"):
        read_box_file(written(tmp_path, twice), box_mode="xyxy")


def test_pickles_missing_files_and_large_files(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match="never opened"):
        read_box_file(written(tmp_path, "x", "case_boxes.pkl"))
    with pytest.raises(FormatError, match="cannot be read"):
        read_box_file(tmp_path / "nothing.json")
    with pytest.raises(FormatError, match="unknown format"):
        read_box_file(written(tmp_path, COCO), "yolo")
    monkeypatch.setattr("overread.files._json.LARGEST_FILE", 10)
    with pytest.raises(FormatError, match="split"):
        read_box_file(written(tmp_path, COCO))
    monkeypatch.setattr("overread.files._json.LARGEST_FILE", 10_000)
    monkeypatch.setattr("overread.marks.formats.coco.MAX_BOXES", 0)
    with pytest.raises(FormatError, match="lowest scores"):
        read_box_file(written(tmp_path, COCO))
