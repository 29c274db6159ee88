"""Acts on an image: what each changes, what is refused, and with which word for the page."""

import math

import pytest

from overread.apps.room._store import RefusalError
from overread.apps.room._values import check_id, check_mark, read_flag, read_text, read_whole
from reading_room import new_id, write_detections


@pytest.fixture
def anna(open_one):
    room = open_one(4)
    visitor = room.visit("Anna")
    visitor.room = room.room
    return visitor


@pytest.fixture
def item(anna):
    return anna.items()[0]


def test_marks_are_drawn_changed_and_deleted_in_their_order_and_each_moves_the_version(anna, item):
    marks = [anna.draw(item, 10 + i, 10) for i in range(3)]
    assert anna.change(item, marks[1], 21, 30)["version"] == 4
    found = anna.state(item)["marks"]
    assert [(m["id"], m["x"], m["origin"], m["confidence"]) for m in found] == [
        (marks[0], 10.0, "drawn", 80.0),
        (marks[1], 21.0, "drawn", None),
        (marks[2], 12.0, "drawn", 80.0),
    ]
    assert anna.act("DELETE", f"/api/items/{item}/marks/{marks[0]}")["version"] == 5
    assert [mark["id"] for mark in anna.state(item)["marks"]] == marks[1:]
    assert anna.refused(item, f"marks/{marks[0]}", "DELETE") == (404, "unknown")


PLACE = {"x": 20, "y": 20, "rx": 3, "ry": 3, "angle": 0}


def test_an_old_version_is_told_how_the_image_is_now(anna, item):
    first = anna.draw(item, 20, 30, version=0)
    answer = anna.ask("PUT", f"/api/items/{item}/marks/{new_id()}", {"op": new_id(), "version": 0, **PLACE})
    assert (answer.status_code, answer.json()["code"]) == (409, "moved")
    assert [mark["id"] for mark in answer.json()["item"]["marks"]] == [first]
    assert len(anna.state(item)["marks"]) == 1


def test_an_act_that_is_sent_twice_is_done_once(anna, item):
    mark = new_id()
    body = {"op": new_id(), "version": 0, **PLACE}
    answers = [anna.ask("PUT", f"/api/items/{item}/marks/{mark}", body).json() for _ in range(3)]
    assert answers == [{"version": 1}] * 3
    # A retry that comes after later changes does not undo them, whatever version it believes in.
    anna.change(item, mark, 40, 20)
    anna.ask("PUT", f"/api/items/{item}/marks/{mark}", {**body, "version": 7})
    assert anna.state(item)["marks"][0]["x"] == 40.0


def test_a_reading_is_locked_with_marks_or_with_the_word_that_there_is_nothing(anna):
    item, other = anna.items()[:2]
    assert anna.refused(item, "lock") == (422, "unsaid")
    for on in (True, False):
        anna.do(item, "nothing", on=on)
    assert anna.refused(item, "lock") == (422, "unsaid")
    assert anna.pass_over(item)["phase"] == "done"
    # A mark takes the place of nothing, and not the other way round.
    anna.do(other, "nothing", on=True)
    anna.draw(other, 20, 20)
    assert anna.state(other)["nothing"] is False
    assert anna.refused(other, "nothing", on=True) == (422, "value")


def test_nothing_changes_after_the_lock(anna, item):
    mark = anna.draw(item, 20, 20)
    anna.do(item, "lock")
    before = anna.state(item)
    for method, what, body in (
        ("PUT", f"marks/{mark}", PLACE),
        ("DELETE", f"marks/{mark}", {}),
        ("POST", "nothing", {"on": True}),
        ("POST", "comment", {"comment": "late"}),
        ("POST", "lock", {}),
    ):
        assert anna.refused(item, what, method, **body) == (409, "locked")
    assert anna.state(item) == before


def test_time_adds_up_with_pauses_apart(anna, item):
    anna.do(item, "time", active_ms=1500, paused_ms=200)
    anna.do(item, "time", active_ms=500, paused_ms=0)
    row = anna.room.items.find("Anna", item)
    assert (row["active_ms"], row["paused_ms"], row["version"]) == (2000, 200, 0)
    assert anna.refused(item, "time", active_ms=3_600_001, paused_ms=0) == (422, "value")


def test_the_worklist_tells_how_far_each_image_is_and_goes_on_there(anna):
    first, second, *_ = anna.items()
    anna.pass_over(first)
    anna.draw(second, 20, 20)
    assert [entry["state"] for entry in anna.get("/api/worklist")] == ["done", "begun", "open", "open"]


def test_an_image_cannot_have_marks_without_end(anna, item, monkeypatch):
    monkeypatch.setattr("overread.apps.room._items.LARGEST_MARKS", 3)
    marks = [anna.draw(item, 10 + i, 10) for i in range(3)]
    assert anna.refused(item, f"marks/{new_id()}", "PUT", **PLACE) == (422, "value")
    anna.change(item, marks[0], 5, 5)


@pytest.fixture
def aided(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", x, 20) for i in range(4) for x in (20, 50)])
    room = open_one(4, detector=detector, design="sequential")
    visitor = room.visit("Anna")
    visitor.room = room.room
    return visitor


def test_detections_are_shown_after_the_lock_only(aided):
    item = aided.items()[0]
    assert "detections" not in aided.state(item)
    refused = aided.ask("POST", f"/api/items/{item}/decisions/D1", {"op": new_id(), "decision": "accept"})
    assert refused.status_code == 409
    assert "detections" not in refused.json()["item"]
    locked = aided.pass_over(item)
    assert locked["phase"] == "aided"
    shown = [(d["id"], d["x"], d["decision"]) for d in locked["detections"]]
    assert shown == [("D1", 20.0, None), ("D2", 50.0, None)]
    assert next(entry["state"] for entry in aided.get("/api/worklist")) == "locked"


def test_accepting_adds_a_mark_dismissing_takes_it_away_and_deleting_it_leaves_nothing_decided(aided):
    item = aided.items()[0]
    aided.pass_over(item)
    answer = aided.do(item, "decisions/D1", decision="accept", confidence=60)
    assert [(m["origin"], m["x"], m["confidence"]) for m in answer["marks"]] == [("accepted", 20.0, 60)]
    assert aided.state(item)["nothing"] is False
    assert aided.do(item, "decisions/D1", decision="dismiss", reason="rib")["marks"] == []
    assert aided.state(item)["detections"][0]["reason"] == "rib"
    (mark,) = aided.do(item, "decisions/D1", decision="accept")["marks"]
    aided.act("DELETE", f"/api/items/{item}/marks/{mark['id']}")
    assert aided.state(item)["detections"][0]["decision"] is None
    for bad in ({"decision": "maybe"}, {"decision": "accept", "confidence": 101}):
        assert aided.refused(item, "decisions/D1", **bad) == (422, "value")
    assert aided.refused(item, "decisions/D9", decision="accept") == (404, "unknown")


def test_an_image_is_finished_when_all_detections_are_decided(aided):
    item = aided.items()[0]
    drawn = aided.draw(item, 70, 50)
    aided.do(item, "lock")
    aided.do(item, "decisions/D1", decision="accept")
    assert aided.refused(item, "finish") == (422, "undecided")
    aided.do(item, "decisions/D2", decision="dismiss", reason="vessel")
    done = aided.do(item, "finish")
    assert done["phase"] == "done"
    assert [mark["origin"] for mark in done["marks"]] == ["drawn", "accepted"]
    marks = aided.room.store.rows("SELECT phase, mark FROM marks WHERE item = ? ORDER BY rowid", (item,))
    assert [row["phase"] for row in marks] == ["unaided", "aided", "aided"]
    assert marks[0]["mark"] == drawn


def test_changes_with_the_detector_leave_the_unaided_reading_alone(aided):
    item = aided.items()[0]
    mark = aided.draw(item, 70, 50)
    aided.do(item, "lock")
    aided.act("DELETE", f"/api/items/{item}/marks/{mark}")
    for detection in ("D1", "D2"):
        assert aided.do(item, f"decisions/{detection}", decision="dismiss")["marks"] == []
    assert aided.refused(item, "finish") == (422, "unsaid")
    aided.do(item, "nothing", on=True)
    aided.do(item, "finish")
    row = aided.room.store.rows("SELECT clear, aided_clear FROM items WHERE item = ?", (item,))[0]
    assert (row["clear"], row["aided_clear"]) == (0, 1)
    kept = aided.room.store.rows("SELECT phase FROM marks WHERE item = ?", (item,))
    assert [row["phase"] for row in kept] == ["unaided"]


def test_a_second_session_begins_when_the_first_is_done(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [(f"case{i}", 20, 20) for i in range(2)])
    anna = open_one(2, detector=detector, design="independent").visit("Anna")
    first, second, third, _ = anna.items()
    anna.pass_over(first)
    for method, path in (("GET", ""), ("GET", "/pixels"), ("POST", "/nothing"), ("POST", "/finish")):
        body = None if method == "GET" else {"op": new_id(), "on": True}
        answer = anna.ask(method, f"/api/items/{third}{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (403, "later")
        assert "20" not in answer.text
    anna.pass_over(second)
    assert [shown["id"] for shown in anna.state(third)["detections"]] == ["D1"]


GOOD = {"x": 10.0, "y": 20, "rx": 5.0, "ry": 4.0, "angle": 30.0, "confidence": 50, "label": "nodule"}


def test_a_good_mark_is_taken_as_it_is_and_some_of_it_may_be_left_out():
    assert check_mark(GOOD, 100, 80, ["nodule"]) == {**GOOD, "comment": ""}
    least = {name: GOOD[name] for name in ("x", "y", "rx", "ry", "angle")}
    assert check_mark(least, 100, 80, []) == {**least, "confidence": None, "label": None, "comment": ""}
    assert read_text({"comment": "two\nlines"}, "comment") == "two\nlines"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, (None, "1", True, math.inf, math.nan, [1])) for name in ("x", "y", "rx", "ry", "angle")),
        ("x", (-0.1, 100.5)),
        ("y", (81,)),
        ("rx", (0, 129)),
        ("ry", (-1,)),
        ("angle", (400,)),
        ("confidence", (101, -1, "80")),
        ("label", ("mass", 3)),
        ("comment", ("x" * 2001, "a\x00b", 5)),
    ],
)
def test_a_value_that_no_reader_can_have_drawn_is_refused_by_name(name, values):
    for value in values:
        with pytest.raises(RefusalError, match=name):
            check_mark({**GOOD, name: value}, 100, 80, ["nodule"])


@pytest.mark.parametrize(
    ("what", "check", "values"),
    [
        (
            "8 to 64",
            check_id,
            (None, 5, "short", "x" * 65, "with space", "semi;colon", "../../etc", "ümlauts-ü"),
        ),
        ("true or false", lambda value, name: read_flag({name: value}, name), (1, None, "true")),
        ("whole", lambda value, name: read_whole({name: value}, name, 10), (-1, 1.5, True, 11)),
    ],
)
def test_ids_flags_and_whole_numbers_are_of_their_kind(what, check, values):
    for value in values:
        with pytest.raises(RefusalError, match=f"^name.*{what}"):
            check(value, "name")
