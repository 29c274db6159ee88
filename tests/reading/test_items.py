import math

import pytest

from overread.apps.room._store import RefusalError
from overread.apps.room._values import check_id, check_mark, read_flag, read_text, read_whole
from reading_room import new_id, write_detections


@pytest.fixture
def anna(open_one):
    room = open_one(4)
    visitor = room.visit("Anna")
    visitor.room = room
    return visitor


def state(visitor, item):
    return visitor.get(f"/api/items/{item}")


def test_a_mark_is_drawn_changed_and_deleted_and_each_moves_the_version(anna):
    item = anna.items()[0]
    mark = anna.draw(item, 20, 30)
    assert anna.act("PUT", f"/api/items/{item}/marks/{mark}", x=21, y=30, rx=8, ry=5, angle=0)["version"] == 2
    found = state(anna, item)["marks"]
    assert [(m["id"], m["x"], m["origin"], m["confidence"]) for m in found] == [(mark, 21.0, "drawn", None)]
    assert anna.act("DELETE", f"/api/items/{item}/marks/{mark}")["version"] == 3
    assert state(anna, item)["marks"] == []


def test_marks_keep_the_order_in_which_they_were_drawn(anna):
    item = anna.items()[0]
    marks = [anna.draw(item, 10 + i, 10) for i in range(5)]
    anna.act("PUT", f"/api/items/{item}/marks/{marks[1]}", x=50, y=10, rx=8, ry=5, angle=0)
    assert [mark["id"] for mark in state(anna, item)["marks"]] == marks


def test_an_old_version_is_told_how_the_image_is_now(anna):
    item = anna.items()[0]
    first = anna.draw(item, 20, 30, version=0)
    body = {"op": new_id(), "version": 0, "x": 1, "y": 1, "rx": 3, "ry": 3, "angle": 0}
    answer = anna.ask("PUT", f"/api/items/{item}/marks/{new_id()}", body)
    assert answer.status_code == 409
    assert answer.json()["code"] == "moved"
    assert [mark["id"] for mark in answer.json()["item"]["marks"]] == [first]
    assert len(state(anna, item)["marks"]) == 1


def test_an_act_that_is_sent_twice_is_done_once(anna):
    item, mark = anna.items()[0], new_id()
    body = {"op": new_id(), "version": 0, "x": 20, "y": 20, "rx": 3, "ry": 3, "angle": 0}
    answers = [anna.ask("PUT", f"/api/items/{item}/marks/{mark}", body).json() for _ in range(3)]
    assert answers == [{"version": 1}] * 3
    # A retry that comes after later changes does not undo them.
    anna.act("PUT", f"/api/items/{item}/marks/{mark}", x=40, y=20, rx=3, ry=3, angle=0)
    anna.ask("PUT", f"/api/items/{item}/marks/{mark}", body)
    assert state(anna, item)["marks"][0]["x"] == 40.0


def test_a_reading_is_locked_with_marks_or_with_the_word_that_there_is_nothing(anna):
    item = anna.items()[0]
    refused = anna.ask("POST", f"/api/items/{item}/lock", {"op": new_id()})
    assert (refused.status_code, refused.json()["code"]) == (422, "unsaid")
    anna.act("POST", f"/api/items/{item}/nothing", on=True)
    anna.act("POST", f"/api/items/{item}/nothing", on=False)
    assert anna.ask("POST", f"/api/items/{item}/lock", {"op": new_id()}).status_code == 422
    assert anna.pass_over(item)["phase"] == "done"


def test_a_mark_takes_the_place_of_nothing(anna):
    item = anna.items()[0]
    anna.act("POST", f"/api/items/{item}/nothing", on=True)
    anna.draw(item, 20, 20)
    assert state(anna, item)["nothing"] is False
    refused = anna.ask("POST", f"/api/items/{item}/nothing", {"op": new_id(), "on": True})
    assert refused.status_code == 422


@pytest.mark.parametrize("what", ["mark", "delete", "nothing", "comment", "lock"])
def test_nothing_changes_after_the_lock(anna, what):
    item = anna.items()[0]
    mark = anna.draw(item, 20, 20)
    anna.act("POST", f"/api/items/{item}/lock")
    before = state(anna, item)
    asked = {
        "mark": ("PUT", f"marks/{mark}", {"x": 30, "y": 20, "rx": 3, "ry": 3, "angle": 0}),
        "delete": ("DELETE", f"marks/{mark}", {}),
        "nothing": ("POST", "nothing", {"on": True}),
        "comment": ("POST", "comment", {"comment": "late"}),
        "lock": ("POST", "lock", {}),
    }[what]
    answer = anna.ask(asked[0], f"/api/items/{item}/{asked[1]}", {"op": new_id(), **asked[2]})
    assert (answer.status_code, answer.json()["code"]) == (409, "locked")
    assert state(anna, item) == before


def test_time_adds_up_with_pauses_apart(anna):
    item = anna.items()[0]
    anna.act("POST", f"/api/items/{item}/time", active_ms=1500, paused_ms=200)
    anna.act("POST", f"/api/items/{item}/time", active_ms=500, paused_ms=0)
    row = anna.room.room.items.find("Anna", item)
    assert (row["active_ms"], row["paused_ms"], row["version"]) == (2000, 200, 0)


def test_the_worklist_tells_how_far_each_image_is_and_goes_on_there(anna):
    first, second, *_ = anna.items()
    anna.pass_over(first)
    anna.draw(second, 20, 20)
    states = [entry["state"] for entry in anna.get("/api/worklist")]
    assert states == ["done", "begun", "open", "open"]
    assert anna.get("/api/me")["progress"] == {"done": 1, "total": 4}


def test_an_image_cannot_have_marks_without_end(anna, monkeypatch):
    monkeypatch.setattr("overread.apps.room._items.LARGEST_MARKS", 3)
    item = anna.items()[0]
    marks = [anna.draw(item, 10 + i, 10) for i in range(3)]
    body = {"op": new_id(), "x": 5, "y": 5, "rx": 3, "ry": 3, "angle": 0}
    assert anna.ask("PUT", f"/api/items/{item}/marks/{new_id()}", body).status_code == 422
    anna.act("PUT", f"/api/items/{item}/marks/{marks[0]}", x=5, y=5, rx=3, ry=3, angle=0)


@pytest.fixture
def aided(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", x, 20) for i in range(4) for x in (20, 50)])
    room = open_one(4, detector=detector, design="sequential")
    visitor = room.visit("Anna")
    visitor.room = room
    return visitor


def test_detections_are_shown_after_the_lock_only(aided):
    item = aided.items()[0]
    assert "detections" not in state(aided, item)
    refused = aided.ask("POST", f"/api/items/{item}/decisions/D1", {"op": new_id(), "decision": "accept"})
    assert refused.status_code == 409
    assert "detections" not in refused.json()["item"]
    locked = aided.pass_over(item)
    assert locked["phase"] == "aided"
    assert [(d["id"], d["x"], d["decision"]) for d in locked["detections"]] == [
        ("D1", 20.0, None),
        ("D2", 50.0, None),
    ]
    assert next(entry["state"] for entry in aided.get("/api/worklist")) == "locked"


def test_accepting_adds_a_mark_dismissing_takes_it_away_again(aided):
    item = aided.items()[0]
    aided.pass_over(item)
    answer = aided.act("POST", f"/api/items/{item}/decisions/D1", decision="accept", confidence=60)
    assert [(m["origin"], m["x"], m["confidence"]) for m in answer["marks"]] == [("accepted", 20.0, 60)]
    assert state(aided, item)["nothing"] is False
    answer = aided.act("POST", f"/api/items/{item}/decisions/D1", decision="dismiss", reason="rib")
    assert answer["marks"] == []
    assert state(aided, item)["detections"][0]["reason"] == "rib"


def test_an_image_is_finished_when_all_detections_are_decided(aided):
    item = aided.items()[0]
    drawn = aided.draw(item, 70, 50)
    aided.act("POST", f"/api/items/{item}/lock")
    aided.act("POST", f"/api/items/{item}/decisions/D1", decision="accept")
    refused = aided.ask("POST", f"/api/items/{item}/finish", {"op": new_id()})
    assert refused.json()["code"] == "undecided"
    aided.act("POST", f"/api/items/{item}/decisions/D2", decision="dismiss", reason="vessel")
    done = aided.act("POST", f"/api/items/{item}/finish")
    assert done["phase"] == "done"
    assert [mark["origin"] for mark in done["marks"]] == ["drawn", "accepted"]
    marks = aided.room.room.store.rows("SELECT phase, mark FROM marks WHERE item = ? ORDER BY rowid", (item,))
    assert [row["phase"] for row in marks] == ["unaided", "aided", "aided"]
    assert marks[0]["mark"] == drawn


def test_changes_with_the_detector_leave_the_unaided_reading_alone(aided):
    item = aided.items()[0]
    mark = aided.draw(item, 70, 50)
    aided.act("POST", f"/api/items/{item}/lock")
    aided.act("DELETE", f"/api/items/{item}/marks/{mark}")
    unsaid = [aided.act("POST", f"/api/items/{item}/decisions/{d}", decision="dismiss") for d in ("D1", "D2")]
    assert unsaid[-1]["marks"] == []
    assert aided.ask("POST", f"/api/items/{item}/finish", {"op": new_id()}).json()["code"] == "unsaid"
    aided.act("POST", f"/api/items/{item}/nothing", on=True)
    aided.act("POST", f"/api/items/{item}/finish")
    row = aided.room.room.store.rows("SELECT clear, aided_clear FROM items WHERE item = ?", (item,))[0]
    assert (row["clear"], row["aided_clear"]) == (0, 1)
    kept = aided.room.room.store.rows("SELECT phase FROM marks WHERE item = ?", (item,))
    assert [row["phase"] for row in kept] == ["unaided"]


def test_deleting_an_accepted_mark_leaves_its_detection_undecided(aided):
    item = aided.items()[0]
    aided.pass_over(item)
    marks = aided.act("POST", f"/api/items/{item}/decisions/D1", decision="accept")["marks"]
    aided.act("DELETE", f"/api/items/{item}/marks/{marks[0]['id']}")
    assert state(aided, item)["detections"][0]["decision"] is None


def test_a_second_session_begins_when_the_first_is_done(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", 20, 20) for i in range(2)])
    room = open_one(2, detector=detector, design="independent")
    anna = room.visit("Anna")
    first, second, third, _ = anna.items()
    anna.pass_over(first)
    for method, path in (("GET", ""), ("GET", "/pixels"), ("POST", "/nothing"), ("POST", "/finish")):
        body = None if method == "GET" else {"op": new_id(), "on": True}
        answer = anna.ask(method, f"/api/items/{third}{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (403, "later")
        assert "20" not in answer.text
    anna.pass_over(second)
    assert [shown["id"] for shown in state(anna, third)["detections"]] == ["D1"]


GOOD = {"x": 10.0, "y": 20, "rx": 5.0, "ry": 4.0, "angle": 30.0, "confidence": 50, "label": "nodule"}


def test_a_good_mark_is_taken_as_it_is():
    mark = check_mark(GOOD, 100, 80, ["nodule"])
    assert mark == {**GOOD, "comment": ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            (name, bad)
            for name in ("x", "y", "rx", "ry", "angle")
            for bad in (None, "1", True, math.inf, math.nan, [1])
        ],
        ("x", -0.1),
        ("x", 100.5),
        ("y", 81),
        ("rx", 0),
        ("ry", -1),
        ("rx", 129),
        ("angle", 400),
        ("confidence", 101),
        ("confidence", -1),
        ("confidence", "80"),
        ("label", "mass"),
        ("label", 3),
        ("comment", "x" * 2001),
        ("comment", "a\x00b"),
        ("comment", 5),
    ],
)
def test_a_value_that_no_reader_can_have_drawn_is_refused_by_name(name, value):
    with pytest.raises(RefusalError, match=name):
        check_mark({**GOOD, name: value}, 100, 80, ["nodule"])


def test_what_may_be_left_out():
    mark = check_mark({name: GOOD[name] for name in ("x", "y", "rx", "ry", "angle")}, 100, 80, [])
    assert (mark["confidence"], mark["label"], mark["comment"]) == (None, None, "")


@pytest.mark.parametrize(
    "value", [None, 5, "short", "x" * 65, "with space", "semi;colon", "../../etc", "ümlauts-ü"]
)
def test_ids_are_letters_digits_and_hyphens(value):
    with pytest.raises(RefusalError, match="8 to 64"):
        check_id(value, "op")


@pytest.mark.parametrize(
    ("name", "read", "bad"),
    [
        ("on", read_flag, 1),
        *(("version", lambda *both: read_whole(*both, 10), bad) for bad in (-1, 1.5, True)),
    ],
)
def test_flags_and_whole_numbers_are_of_their_type(name, read, bad):
    with pytest.raises(RefusalError, match=name):
        read({name: bad}, name)
    assert read_text({"comment": "two\nlines"}, "comment") == "two\nlines"
