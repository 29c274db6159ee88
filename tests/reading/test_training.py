from __future__ import annotations

import pandas as pd
import pytest

from overread.apps.room._app import Address, make_app
from overread.apps.room._people import add_person
from overread.apps.room._room import open_room
from overread.apps.room._worklists import TrainingSet
from overread.errors import TableError
from overread.tables import write_table
from reading_room import MM, Visitor, make_study, open_limits


@pytest.fixture
def training(tmp_path):
    """Two readers agree on one object at (20, 30) px of case0; one of them marked another."""
    folder = make_study(tmp_path / "training", 2)
    ellipse = {"semi_major_mm": 6.0, "semi_minor_mm": 6.0, "angle_deg": 0.0}
    rows = [("case0", "R1", 20, 30), ("case0", "R2", 20.5, 30), ("case0", "R1", 60, 40)]
    marks = pd.DataFrame(
        [
            {"image_id": i, "reader_id": r, "mark_id": f"m{n}", "x_mm": x * MM, "y_mm": y * MM, **ellipse}
            for n, (i, r, x, y) in enumerate(rows)
        ]
    )
    readings = pd.DataFrame(
        [(i, r) for i in ("case0", "case1") for r in ("R1", "R2")], columns=["image_id", "reader_id"]
    )
    write_table(marks, folder / "marks.csv")
    write_table(readings, folder / "readings.csv")
    return folder


def test_feedback_tells_what_was_found_and_what_was_wrong(training):
    known = TrainingSet(training)
    marks = [{"id": "right", "x": 21.0, "y": 31.0}, {"id": "wrong", "x": 60.0, "y": 40.0}]
    told = known.feedback("case0", marks, (MM, MM))
    assert [(o["found"], round(o["x"])) for o in told["objects"]] == [(True, 20)]
    assert told["false_marks"] == ["wrong"]
    assert known.feedback("case0", [], (MM, MM))["objects"][0]["found"] is False
    assert known.feedback("case1", [], (MM, MM)) == {"objects": [], "false_marks": []}


def test_training_comes_first_and_answers_after_the_lock_only(training, tmp_path):
    room = open_room(make_study(tmp_path / "study", 2, seed=1)).with_training(training)
    secret = add_person(room.store, "Anna", "reader")
    room.prepare()
    anna = Visitor(make_app(room, Address("http://127.0.0.1"), open_limits()), secret, "http://127.0.0.1")
    kinds = [entry["kind"] for entry in anna.get("/api/worklist")]
    assert kinds == ["training", "training", "reading", "reading"]
    items = {
        row["image_id"]: row["item"]
        for row in room.store.rows("SELECT item, image_id FROM items WHERE kind = 'training'")
    }
    item = items["case0"]
    anna.draw(item, 21, 31)
    assert "feedback" not in anna.get(f"/api/items/{item}")
    told = anna.act("POST", f"/api/items/{item}/lock")
    assert told["feedback"]["objects"][0]["found"] is True
    assert anna.ask("GET", f"/api/items/{item}/pixels").status_code == 200
    room.store.close()


def test_training_is_not_part_of_the_tables(training, tmp_path):
    from overread.apps.room._tables import read_arm

    room = open_room(make_study(tmp_path / "study", 2, seed=1)).with_training(training)
    secret = add_person(room.store, "Anna", "reader")
    room.prepare()
    anna = Visitor(make_app(room, Address("http://127.0.0.1"), open_limits()), secret, "http://127.0.0.1")
    for item in anna.items()[:2]:
        anna.pass_over(item)
    assert read_arm(room.store, "unaided").readings.empty
    room.store.close()


def test_a_folder_without_marks_cannot_train(tmp_path):
    with pytest.raises(TableError, match="marks"):
        TrainingSet(make_study(tmp_path / "empty", 1))
