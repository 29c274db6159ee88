"""Label Studio exports: percent, rotation, readers, readings without marks; and there and back."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import DataWarning, FormatError, TableError
from overread.marks import MarkSet, Spacings
from overread.marks.formats import label_studio

COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


def region(**changes) -> dict:
    value = {"x": 50, "y": 25, "radiusX": 10, "radiusY": 5, "rotation": 30, "ellipselabels": ["nodule"]}
    extra = {
        "id": "abc",
        "type": "ellipselabels",
        "original_width": 1000,
        "original_height": 2000,
        "image_rotation": 0,
    }
    return {**extra, "value": value | changes}


def annotation(*regions, **changes) -> dict:
    return {"id": 7, "completed_by": 3, "was_cancelled": False, "result": list(regions)} | changes


def task(*annotations, image="a.png") -> dict:
    return {"id": 1, "data": {"image": image}, "annotations": list(annotations), "predictions": []}


def read(tmp_path, tasks, mm_per_px=(0.1, 0.2), **options) -> MarkSet:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    return label_studio.read(path, spacings=Spacings.of(mm_per_px), **options)


def test_percent_become_pixels_before_they_are_rotated(tmp_path):
    """Semi-axes of 100 px both: a circle in px, an upright ellipse in mm, for any rotation."""
    found = read(tmp_path, [task(annotation(region()))])
    assert found.marks[COLUMNS].to_numpy()[0] == pytest.approx([50, 100, 20, 10, 90])
    assert found.marks[["image_id", "reader_id", "mark_id", "label"]].iloc[0].tolist() == [
        "a.png",
        "3",
        "abc",
        "nodule",
    ]
    assert found.images[["width_px", "height_px", "path"]].iloc[0].tolist() == [1000, 2000, "a.png"]


def test_rotation_is_clockwise_about_the_centre(tmp_path):
    found = read(tmp_path, [task(annotation(region(radiusY=1)))], mm_per_px=0.1)
    assert found.marks[COLUMNS].to_numpy()[0] == pytest.approx([50, 50, 10, 2, 30])


def test_readings_without_marks_count_and_cancelled_ones_do_not(tmp_path):
    tasks = [
        task(
            annotation(region()),
            annotation(id=8, completed_by={"id": 4, "email": "x@y"}),
            annotation(region(), id=9, completed_by=5, was_cancelled=True),
        ),
        task(annotation(id=10), image="b.png"),
        task(image="unread.png"),
        task(annotation(region(), was_cancelled=True), image="cancelled.png"),
    ]
    with pytest.warns(DataWarning, match="2 cancelled annotations, 1 tasks without annotations"):
        found = read(tmp_path, tasks)
    assert found.readings.to_numpy().tolist() == [["a.png", "3"], ["a.png", "4"], ["b.png", "3"]]
    assert len(found.marks) == 1
    assert list(found.images["image_id"]) == ["a.png", "b.png"]


def test_the_same_region_id_in_two_annotations_stays_two_marks(tmp_path):
    found = read(tmp_path, [task(annotation(region()), annotation(region(), id=8, completed_by=4))])
    assert list(found.marks["mark_id"]) == ["abc", "8/abc"]


def test_json_min(tmp_path):
    shape = region()["value"] | {"original_width": 1000, "original_height": 2000}
    records = [
        {"image": "a.png", "id": 1, "label": [shape], "annotator": 3, "annotation_id": 7, "choice": ["x"]},
        {"image": "a.png", "id": 1, "annotator": 4, "annotation_id": 8},
    ]
    with pytest.raises(FormatError, match=r"rotated in the editor.*--not-rotated"):
        read(tmp_path, records)
    assert len(read(tmp_path, records[1:]).readings) == 1
    found = read(tmp_path, records, not_rotated=True)
    assert found.marks[COLUMNS].to_numpy()[0] == pytest.approx([50, 100, 20, 10, 90])
    assert found.readings.to_numpy().tolist() == [["a.png", "3"], ["a.png", "4"]]
    assert list(found.marks["mark_id"]) == ["7/0"]


def test_two_annotations_of_one_member_are_said(tmp_path):
    tasks = [task(annotation(region(), id=1), annotation(region(x=20), id=2))]
    with pytest.warns(DataWarning, match="1 further annotations of a member on the same image"):
        found = read(tmp_path, tasks)
    assert (len(found.readings), len(found.marks)) == (1, 2)


def test_boxes_count_only_on_request_and_turn_about_their_corner(tmp_path):
    box = {
        "id": "b",
        "original_width": 1000,
        "original_height": 1000,
        "value": {"x": 50, "y": 50, "width": 20, "height": 10, "rotation": 90, "rectanglelabels": ["n"]},
    }
    with pytest.warns(DataWarning, match=r"1 box \(import with --boxes\), 1 readings"):
        assert read(tmp_path, [task(annotation(box))]).marks.empty
    found = read(tmp_path, [task(annotation(box))], mm_per_px=0.5, boxes=True)
    assert found.marks[COLUMNS].to_numpy()[0] == pytest.approx([225, 300, 50, 25, 90])


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ({}, r"export\.json: an object instead of an array"),
        ([1], "neither a task"),
        ([{"data": {}}], "neither a task"),
        ([task(annotation(region(x="50")))], r"\[0\]\.annotations\[0\]\.result\[0\]\.value\.x"),
        ([task(annotation(region(radiusX=0)))], "semi-axes"),
        ([task(annotation(region(radiusY=-1)))], "semi-axes"),
        ([task(annotation({**region(), "image_rotation": 90}))], "rotated in the editor"),
        ([task(annotation({**region(), "original_width": 5}, region()))], "two sizes"),
        ([task(annotation(region()), annotation({**region(), "original_width": 5}, id=8))], "occurs twice"),
        ([task(annotation(completed_by=None))], "completed_by: null"),
        ([task(annotation(region(ellipselabels=["a", "b"])))], "2 labels"),
        ([{"data": {"picture": "x"}, "annotations": []}], "'image' is missing"),
    ],
)
def test_wrong_exports_are_refused(tmp_path, tasks, words):
    with pytest.raises(FormatError, match=words):
        read(tmp_path, tasks)


@given(
    shape=st.tuples(
        st.floats(0, 300), st.floats(0, 300), st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0, 179.9)
    ),
    spacing=st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)),
    identifier=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)
@settings(deadline=None, max_examples=60, derandomize=True)
def test_there_and_back(tmp_path_factory, shape, spacing, identifier):
    x, y, a, b, angle = shape
    marks = pd.DataFrame(
        {
            "image_id": [identifier],
            "reader_id": [identifier],
            "mark_id": [identifier],
            "x_mm": [x],
            "y_mm": [y],
            "semi_major_mm": [max(a, b)],
            "semi_minor_mm": [min(a, b)],
            "angle_deg": [angle],
            "label": ["=nodule"],
        }
    )
    readings = pd.DataFrame({"image_id": [identifier] * 2, "reader_id": [identifier, "007"]})
    images = pd.DataFrame(
        {
            "image_id": [identifier],
            "mm_per_px_x": [spacing[0]],
            "mm_per_px_y": [spacing[1]],
            "width_px": [3000.0],
            "height_px": [2000.0],
        }
    )
    (path,) = label_studio.write(
        MarkSet(marks, readings, images), tmp_path_factory.mktemp("ls") / "tasks.json"
    )
    back = label_studio.read(path, spacings=Spacings.of(spacing), image_key="image_id")
    assert (
        back.marks.drop(columns=COLUMNS).to_numpy().tolist()
        == marks.drop(columns=COLUMNS).to_numpy().tolist()
    )
    assert back.readings.to_numpy().tolist() == readings.drop_duplicates().to_numpy().tolist()
    assert matrix(back.marks) == pytest.approx(matrix(marks), rel=1e-9, abs=1e-9)


def matrix(marks: pd.DataFrame) -> np.ndarray:
    """Centre and M M^T, which do not jump where the angle does."""
    x, y, a, b, angle = marks[COLUMNS].to_numpy()[0]
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turned = np.array([[cos, -sin], [sin, cos]]) * [a, b]
    return np.array([x, y, *(turned @ turned.T).ravel()])


def test_writing_needs_sizes_and_spacings(tmp_path):
    marks = pd.DataFrame(
        {"image_id": ["i"], "reader_id": ["r"], "mark_id": ["m"]} | {name: [1.0] for name in COLUMNS}
    )
    readings = marks[["image_id", "reader_id"]]
    with pytest.raises(TableError, match="width_px"):
        label_studio.write(MarkSet(marks, readings, marks[["image_id"]]), tmp_path / "tasks.json")
    assert not list(tmp_path.iterdir())


def test_readers_are_written_as_members(tmp_path):
    readings = pd.DataFrame({"image_id": ["i"] * 3, "reader_id": ["12", "012", "a@b"]})
    empty = pd.DataFrame({name: [] for name in ("image_id", "reader_id", "mark_id", *COLUMNS)})
    (path,) = label_studio.write(MarkSet(empty, readings, readings[["image_id"]][:1]), tmp_path / "t.json")
    (only,) = json.loads(path.read_text())
    assert [entry["completed_by"] for entry in only["annotations"]] == [
        12,
        {"id": "012", "email": "012"},
        {"id": "a@b", "email": "a@b"},
    ]
