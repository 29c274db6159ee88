import pytest

from overread.apps.room._pixels import ShownFile
from overread.apps.room._second_reading import keep_detections, shown_detections
from overread.errors import ModelFileError, TableError, UsageError
from overread.images import GRID_MM, read_image
from overread.tables import read_table, write_table
from reading_room import MM, OpenRoom, make_study, write_detections


def test_shown_detections_stand_in_pixels_strongest_first(open_one, tmp_path):
    places = [("case0", 20, 30), ("case0", 40.5, 10), ("case1", 5, 5), ("case0", 60, 10)]
    path = write_detections(tmp_path / "d.csv", places)
    write_table(read_table(path, "candidates").assign(shown=[True, True, True, False]), path)
    room = open_one(4, detector=path, design="sequential").room
    found = shown_detections(room.store, "", "case0")
    assert [(d["id"], d["x"], d["y"], d["rx"], d["probability"]) for d in found] == [
        ("D1", 20.0, 30.0, 4.0 / MM, None),
        ("D2", 40.5, 10.0, 4.0 / MM, None),
    ]
    assert shown_detections(room.store, "", "case2") == []
    assert room.store.rows("SELECT count(*) FROM detected")[0][0] == 4


def test_a_room_keeps_to_one_detector(open_one, tmp_path):
    path = write_detections(tmp_path / "d.csv", [("case0", 20, 30)])
    room = open_one(4, detector=path).room
    assert room.plan.design == "sequential"
    other = write_detections(tmp_path / "e.csv", [("case0", 21, 30)])
    with pytest.raises(UsageError, match="has another detector"):
        keep_detections(room.store, other, 1.0, room.images)
    assert keep_detections(room.store, path, 1.0, room.images) == {}


def test_what_is_no_detector_is_refused(open_one, tmp_path):
    room = open_one(4).room
    (tmp_path / "bad.json").write_text("{}")
    path = write_detections(tmp_path / "d.csv", [("case0", 20, 30)])
    write_table(read_table(path, "candidates").drop(columns="score"), path)
    for name, error, told in (
        ("none.json", UsageError, "no such file"),
        ("bad.json", ModelFileError, "bad.json"),
        ("d.csv", TableError, "no column score"),
    ):
        with pytest.raises(error, match=told):
            keep_detections(room.store, tmp_path / name, 1.0, room.images)


def test_a_design_with_a_detector_needs_one(tmp_path):
    with pytest.raises(UsageError, match="needs --detector"):
        OpenRoom(make_study(tmp_path / "study"), design="independent")


def test_a_trained_detector_runs_on_the_images_of_the_room(trained, store, tmp_path):
    """The same marks as the detector itself gives at its operating point."""
    image, fp = trained.dicom[0], trained.detector.operating_points[-1].fp_target
    store.insert("pictures", [picture_row("a", GRID_MM)])
    path = trained.detector.write(tmp_path / "detector.json")
    assert keep_detections(store, path, fp, {"a": ShownFile(image, None)}) == {}
    found = trained.detector.detect(read_image(image))
    found = found[trained.detector.shown(found, fp)]
    kept = shown_detections(store, "", "a")
    assert len(found) > 0
    assert [d["x"] * GRID_MM for d in kept] == pytest.approx(found["x_mm"].tolist())


def picture_row(name, mm):
    numbers = dict.fromkeys(
        ("width", "height", "channels", "bits", "window_center", "window_width", "inverted"), 1
    )
    texts = dict.fromkeys(("left_side", "right_side", "signature"), "")
    return {"kind": "reading", "image_id": name, "mm_x": mm, "mm_y": mm, **numbers, **texts}
