"""Someone else's detections and ground truth as tables."""

import json

import numpy as np
import pytest

from overread.errors import FormatError, InvalidInputError, TableError
from overread.froc import read_detections, read_foreign_truth

COCO = [
    {"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.9},
    {"image_id": 7, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.1},
]


def written(folder, content, name="found.csv"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_csv_with_points_and_ids_kept_exactly(tmp_path):
    text = "image_id,x_mm,y_mm,score\nNA,1.5,2,0.5\n00123,3,4,-7\n"
    found = read_detections(written(tmp_path, text))
    assert found.candidates["image_id"].tolist() == ["NA", "00123"]
    assert found.candidates["candidate_id"].tolist() == ["1", "2"]
    assert found.candidates[["x_mm", "y_mm", "radius_mm"]].to_numpy().tolist() == [[1.5, 2, 0], [3, 4, 0]]
    assert found.scores["score"].tolist() == [0.5, -7]
    assert (found.models, found.images, found.unit) == (["score"], None, "mm")


def test_csv_with_boxes_in_px(tmp_path):
    text = (
        "image_id,candidate_id,x_min,y_min,x_max,y_max,ours,theirs\na,c1,10,20,30,60,1,2\nb,c1,0,0,4,1,3,4\n"
    )
    found = read_detections(written(tmp_path, text), spacing={"a": (0.5, 0.25), "b": (1, 1)})
    np.testing.assert_allclose(found.candidates[["x_mm", "y_mm"]], [[10, 10], [2, 0.5]])
    np.testing.assert_allclose(found.candidates["radius_mm"], [np.sqrt(5 * 5), np.sqrt(2 * 0.5)])
    assert found.models == ["ours", "theirs"]


def test_scores_without_positions(tmp_path):
    found = read_detections(written(tmp_path, "image_id,candidate_id,soft,b1\na,1,0.5,1\n"))
    assert found.unit is None
    assert found.models == ["soft", "b1"]
    chosen = read_detections(written(tmp_path, "image_id,x_mm,y_mm,p,note\na,1,2,3,x\n"), score_columns=["p"])
    assert chosen.models == ["p"]


def test_coco_boxes_become_inscribed_ellipses(tmp_path):
    found = read_detections(written(tmp_path, COCO, "found.json"), spacing=0.5, model="theirs")
    np.testing.assert_allclose(found.candidates[["x_mm", "y_mm"]], [[12.5, 20], [2.5, 2.5]])
    np.testing.assert_allclose(found.candidates["radius_mm"], [np.sqrt(7.5 * 10), 2.5])
    assert found.scores["theirs"].tolist() == [0.9, 0.1]


def test_monai_in_mm_lists_every_image(tmp_path):
    entries = [{"image": "a.png", "box": [[5, 6, 2, 4]], "label": [0], "score": [1]}]
    entries.append({"image": "b.png", "box": [], "label": [], "score": []})
    path = written(tmp_path, entries, "found.json")
    found = read_detections(path, box_mode="ccwh", units="mm")
    assert found.images == ("a", "b")
    np.testing.assert_allclose(found.candidates[["x_mm", "y_mm", "radius_mm"]], [[5, 6, np.sqrt(2)]])
    with pytest.raises(FormatError, match="does not say its unit"):
        read_detections(path, box_mode="ccwh")


def test_a_file_of_several_categories_needs_a_choice(tmp_path):
    path = written(tmp_path, [*COCO, COCO[0] | {"category_id": 2}], "found.json")
    with pytest.raises(FormatError, match=r"2 categories \(1, 2\)"):
        read_detections(path, spacing=1)
    assert len(read_detections(path, spacing=1, category="2").candidates) == 1
    assert len(read_detections(path, spacing=1, category="all").candidates) == 3
    with pytest.raises(FormatError, match="no box of category '9'"):
        read_detections(path, spacing=1, category="9")


def test_coco_truth(tmp_path):
    boxes = {
        "images": [{"id": 1}, {"id": "x"}],
        "annotations": [{"image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40]}],
    }
    found = read_foreign_truth(written(tmp_path, boxes, "truth.json"), spacing=2)
    assert found.images == ("1", "x")
    row = found.truth.iloc[0]
    assert (row.x_mm, row.y_mm, row.semi_major_mm, row.semi_minor_mm, row.angle_deg) == (50, 80, 40, 30, 90)


@pytest.mark.parametrize(
    ("columns", "cells", "ellipse"),
    [
        ("x_mm,y_mm,radius_mm", "1,2,3", (1, 2, 3, 3, 0)),
        ("x_px,y_px,radius_px", "1,2,3", (0.5, 1, 1.5, 1.5, 0)),
        ("x_min_mm,y_min_mm,x_max_mm,y_max_mm", "0,0,4,2", (2, 1, 2, 1, 0)),
        ("x_min,y_min,x_max,y_max", "0,0,2,4", (0.5, 1, 1, 0.5, 90)),
        ("x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg", "1,2,2,3,30", (1, 2, 3, 2, 120)),
    ],
)
def test_truth_tables_of_every_shape(tmp_path, columns, cells, ellipse):
    path = written(tmp_path, f"image_id,{columns},golden,zone\na,{cells},true,apex\n")
    (row,) = read_foreign_truth(path, spacing=0.5).truth.itertuples()
    found = (row.x_mm, row.y_mm, row.semi_major_mm, row.semi_minor_mm, row.angle_deg)
    assert found == pytest.approx(ellipse)
    assert (row.golden, row.zone, row.truth_id) == (True, "apex", "1")


def test_a_circle_on_pixels_that_are_not_square_is_an_ellipse(tmp_path):
    path = written(tmp_path, "image_id,x_px,y_px,radius_px\na,10,10,4\n")
    row = read_foreign_truth(path, spacing={"a": (0.5, 1)}).truth.iloc[0]
    assert (row.x_mm, row.y_mm, row.semi_major_mm, row.semi_minor_mm, row.angle_deg) == (5, 10, 4, 2, 90)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("image_id,x_mm,y_mm\na,1,2\n", "no score column"),
        ("image_id,x_mm,y_mm,score\na,1,2,nan\n", "row 2, column score: 'nan'"),
        ("image_id,x_mm,y_mm,score\na,1,2,inf\n", "row 2, column score"),
        ("image_id,x_mm,y_mm,score\na,1,2,\n", "row 2, column score"),
        ("image_id,x_mm,y_mm,comment\na,1,2,good\n", "name the score columns"),
        ("image_id,x_mm,y_mm,score\na,1,,0.5\n", "row 2, column y_mm"),
        ("image_id,x_mm,y_mm,score\na,1,two,0.5\n", "row 2, column y_mm"),
        ("image_id,x_mm,y_mm,radius_mm,score\na,1,2,0,0.5\n", "no size"),
        ("image_id,x_min,y_min,x_max,y_max,score\na,5,1,2,2,0.5\n", "no size"),
        ("image_id,candidate_id,x_mm,y_mm,score\na,1,2,2,5\na,1,3,3,6\n", "already in row 2"),
        ("image,x_mm,y_mm,score\na,1,2,3\n", "image_id"),
        ("image_id,x_mm,y_mm,score\na,1,2,0.5\nb,3", "row 3"),
        ("", "found.csv"),
    ],
)
def test_hostile_tables_are_refused(tmp_path, text, words):
    with pytest.raises(TableError, match=words):
        read_detections(written(tmp_path, text), spacing=1.0)


@pytest.mark.parametrize(
    ("spacing", "words"),
    [
        (0.0, "above 0"),
        (np.nan, "above 0"),
        ({"b": (1, 1)}, "'a' has no spacing"),
    ],
)
def test_pixels_need_a_sound_spacing(tmp_path, spacing, words):
    path = written(tmp_path, "image_id,x_px,y_px,score\na,1,2,3\n")
    with pytest.raises(InvalidInputError, match=words):
        read_detections(path, spacing=spacing)


def test_hostile_truth_is_refused(tmp_path):
    with pytest.raises(TableError, match="place and a size"):
        read_foreign_truth(written(tmp_path, "image_id,x_mm,y_mm\na,1,2\n"))
    with pytest.raises(FormatError, match="not ground truth"):
        read_foreign_truth(written(tmp_path, COCO, "truth.json"), spacing=1)
    stray = {"images": [], "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1]}]}
    with pytest.raises(FormatError, match="not under 'images'"):
        read_foreign_truth(written(tmp_path, stray, "truth.json"), spacing=1)
    with pytest.raises(FormatError, match="no score"):
        read_detections(written(tmp_path, {**stray, "images": [{"id": 1}]}, "found.json"), spacing=1)
    with pytest.raises(FormatError, match="in px"):
        read_detections(written(tmp_path, COCO, "found.json"), units="mm")
