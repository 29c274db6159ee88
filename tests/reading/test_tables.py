import shutil

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.apps.room._people import add_person
from overread.apps.room._tables import list_sittings, mm_rows, take_in_marks
from overread.errors import TableError, UsageError
from overread.marks import ELLIPSE_COLUMNS, Ellipse, MarkSet, read_folder, write_folder
from overread.tables import name_lengths, read_table, write_table
from reading_room import MM, OpenRoom, make_study, write_detections


def finish_all(room):
    """Anna marks (20, 30) on every image, Ben nothing."""
    room.finish("Anna", label="nodule")
    room.finish("Ben", mark=False)


def test_the_study_reads_back_what_was_drawn(open_one):
    room = open_one(3)
    finish_all(room)
    written = room.room.export()
    assert {path.name for path in written} == {"marks.csv", "readings.csv", "sittings.csv"}
    study = read_folder(room.room.folder)
    assert len(study.readings) == 6
    assert set(study.marks["reader_id"]) == {"Anna"}
    expected = Ellipse(20 * MM, 30 * MM, 8 * MM, 5 * MM, 30.0)
    for row in study.marks.to_dict("records"):
        assert [row[name] for name in name_lengths(ELLIPSE_COLUMNS, "mm")] == pytest.approx(
            [getattr(expected, name) for name in ELLIPSE_COLUMNS]
        )
        assert (row["confidence"], row["label"]) == (80.0, "nodule")


@settings(max_examples=50)
@given(
    st.tuples(
        st.floats(0, 80), st.floats(0, 60), st.floats(0.5, 40), st.floats(0.5, 40), st.floats(-360, 360)
    ),
    st.floats(0.1, 1.0),
    st.floats(0.1, 1.0),
)
def test_points_on_a_drawn_ellipse_lie_on_the_written_one(ellipse, mm_x, mm_y):
    """The outline of the page's ellipse, taken to mm point by point, fulfils the equation of the table's ellipse."""
    x, y, rx, ry, angle = ellipse
    row = {"x": x, "y": y, "rx": rx, "ry": ry, "angle": angle, "mm_x": mm_x, "mm_y": mm_y}
    cx, cy, a, b, turned = mm_rows([row])[0]
    t = np.linspace(0, 2 * np.pi, 17)
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    px = (x + rx * np.cos(t) * c - ry * np.sin(t) * s) * mm_x - cx
    py = (y + rx * np.cos(t) * s + ry * np.sin(t) * c) * mm_y - cy
    c, s = np.cos(np.radians(turned)), np.sin(np.radians(turned))
    along, across = (px * c + py * s) / a, (py * c - px * s) / b
    np.testing.assert_allclose(along**2 + across**2, 1.0, rtol=1e-6)


def test_what_is_locked_is_in_the_tables_with_its_time_and_an_empty_list_is_one(open_one):
    room = open_one(3)
    anna = room.visit("Anna")
    first, second, _ = anna.items()
    anna.do(first, "time", active_ms=2500, paused_ms=1000)
    anna.do(first, "comment", comment="difficult")
    anna.pass_over(first)
    anna.draw(second, 20, 20)
    (row,) = list_sittings(room.room.store).to_dict("records")
    assert (row["active_s"], row["paused_s"], row["arm"]) == (2.5, 1.0, "unaided")
    assert (row["nothing"], row["comment"]) == (True, "difficult")
    room.room.export()
    assert read_table(room.room.folder / "marks.csv", "marks").empty
    assert len(read_table(room.room.folder / "readings.csv", "readings")) == 1


def test_unaided_and_aided_and_repeats_are_apart(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", 50, 20) for i in range(4)])
    room = open_one(4, detector=detector, design="sequential", repeats=1, readers=("Anna",))
    anna = room.visit("Anna")
    for item in anna.items():
        anna.draw(item, 20, 30)
        anna.do(item, "lock")
        anna.do(item, "decisions/D1", decision="accept", confidence=40)
        anna.do(item, "finish")
    room.room.export()
    folder = room.room.folder
    assert len(read_folder(folder).marks) == 4
    aided = read_folder(folder / "reading/aided")
    assert len(aided.readings) == 4
    assert sorted(aided.marks["confidence"]) == [40.0] * 4 + [80.0] * 4
    assert len(read_table(folder / "reading/repeats/readings.csv", "readings")) == 1


def test_tables_of_somebody_else_are_not_replaced(open_one):
    room = open_one(3)
    finish_all(room)
    folder = room.room.folder
    room.room.export()
    room.room.export()
    write_table(read_table(folder / "readings.csv", "readings").iloc[:1], folder / "readings.csv")
    with pytest.raises(TableError, match="was not written by this room"):
        room.room.export()


@pytest.fixture
def with_earlier_marks(tmp_path):
    folder = make_study(tmp_path / "study", 3)
    marks = pd.DataFrame({"image_id": ["case0", "case1"], "reader_id": "Old", "mark_id": ["a", "b"]})
    ellipses = {"x_mm": [10.0, 12.0], "y_mm": [11.0, 13.0], "semi_major_mm": 4.0, "semi_minor_mm": 2.0}
    marks = marks.assign(**ellipses, angle_deg=45.0, confidence=[70.0, np.nan])
    readings = pd.DataFrame({"image_id": ["case0", "case1", "case2"], "reader_id": "Old"})
    images = read_table(folder / "images.csv", "images")
    write_folder(MarkSet(marks, readings, images), folder, keep_images=True)
    return folder


def test_earlier_marks_are_taken_in_and_come_out_again(with_earlier_marks):
    folder = with_earlier_marks
    before = read_folder(folder)
    room = OpenRoom(folder, ("Anna",))
    assert take_in_marks(room.room.store, folder) == (3, 2)
    assert take_in_marks(room.room.store, folder) == (3, 2)
    room.finish("Anna")
    room.room.export()
    after = read_folder(folder)
    assert len(after.readings) == 6
    old = after.marks[after.marks["reader_id"] == "Old"].reset_index(drop=True)
    for name in (*name_lengths(ELLIPSE_COLUMNS, "mm"), "confidence"):
        np.testing.assert_allclose(old[name], before.marks[name], rtol=1e-12)
    assert old["mark_id"].tolist() == ["a", "b"]
    room.room.store.close()


def test_earlier_marks_are_of_others_or_of_who_gets_a_link_for_the_rest(with_earlier_marks, tmp_path):
    folder = with_earlier_marks
    room = OpenRoom(shutil.copytree(folder, tmp_path / "other"), ("Old",))
    with pytest.raises(UsageError, match="on the worklist of 'Old'"):
        take_in_marks(room.room.store, folder)
    room.room.store.close()
    write_table(read_table(folder / "readings.csv", "readings").iloc[:2], folder / "readings.csv")
    room = OpenRoom(folder, ())
    take_in_marks(room.room.store, folder)
    add_person(room.room.store, "Old", "reader")
    assert room.room.prepare()[1] == {"Old": 1}
    room.room.store.close()
