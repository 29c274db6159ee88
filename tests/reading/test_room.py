"""A room as its owner makes it ready and sees it."""

import json

import pytest

from overread.apps.room._people import add_person, revoke
from overread.apps.room._room import open_room
from overread.errors import UsageError
from reading_room import make_study, write_detections


def test_images_that_cannot_be_read_are_on_no_worklist_and_without_any_the_room_stays_closed(
    open_one, tmp_path
):
    folder = make_study(tmp_path / "study", 2)
    (folder / "images/case1.png").write_bytes(b"broken")
    room = open_one()
    assert set(room.ready[0]) == {"case1"}
    assert room.ready[1] == {"Anna": 1, "Ben": 1}
    (folder / "images/case0.png").unlink()
    with pytest.raises(UsageError, match="no image can be read"):
        room.room.prepare()


def test_a_plan_is_kept_until_worklists_are_made(tmp_path):
    folder = make_study(tmp_path / "study", 4)
    room = open_room(folder)
    room.change_plan(fewest=2, most=2, seed=3)
    room.store.close()
    again = open_room(folder)
    assert (again.plan.fewest, again.plan.seed) == (2, 3)
    add_person(again.store, "Anna", "reader")
    with pytest.raises(UsageError, match="each image needs 2 readers, and there are 1"):
        again.prepare()
    add_person(again.store, "Ben", "reader")
    again.prepare()
    again.change_plan(fewest=2, most=2)
    with pytest.raises(UsageError, match="cannot change any more"):
        again.change_plan(seed=4)
    again.store.close()


def test_plans_and_labels_that_cannot_be_are_refused(open_one):
    room = open_one(1).room
    for wanted in ({"design": "random"}, {"repeats": -1}):
        with pytest.raises(UsageError, match="--"):
            room.change_plan(**wanted)
    for label in ("", " a", "x" * 65, "a\nb"):
        with pytest.raises(UsageError, match="--labels"):
            room.change_labels([label])


def test_a_reader_who_left_is_replaced(open_one):
    room = open_one(4, fewest=2, most=2)
    anna = room.visit("Anna")
    anna.pass_over(anna.items()[0])
    revoke(room.room.store, "Anna")
    add_person(room.room.store, "Cleo", "reader")
    assert room.room.prepare()[1] == {"Ben": 0, "Cleo": 3}


def test_images_that_the_detector_has_not_seen_are_not_read_with_it(open_one, tmp_path):
    detector = write_detections(tmp_path / "d.csv", [("case0", 10, 10)])
    room = open_one(2, detector=detector, design="sequential").room
    with room.store.transaction() as database:
        database.execute("DELETE FROM detected WHERE image_id = 'case1'")
    with pytest.raises(UsageError, match="'case1' is new to the detector"):
        room.prepare()
    assert room.prepare(detector)[0] == {}


def test_the_owner_sees_progress_of_each(open_one):
    room = open_one(6)
    room.finish("Anna", ["case0", "case1"])
    room.visit("Ben").get(f"/api/items/{room.item_of('Ben', 'case0')}")
    told = room.visit("owner").get("/api/owner")
    assert told["readers"] == [
        {"name": "Anna", "done": 2, "total": 6, "begun": 0, "median_seconds": 4.0, "revoked": False},
        {"name": "Ben", "done": 0, "total": 6, "begun": 1, "median_seconds": None, "revoked": False},
    ]
    assert told["images"] == {"total": 6, "complete": 0}


def test_agreement_is_of_complete_images_only(open_one):
    """What Anna marked on images that Ben has not finished changes nothing of what the owner sees."""
    room = open_one(8)
    complete = [f"case{i}" for i in range(6)]
    room.finish("Anna", complete)
    room.finish("Ben", complete[:3])
    owner = room.visit("owner")
    assert owner.get("/api/owner")["agreement"] is None
    room.finish("Ben", complete[3:], mark=False)
    before = owner.get("/api/owner")["agreement"]
    assert before["n_images"] == 6
    room.finish("Anna", ["case6", "case7"])
    assert owner.get("/api/owner")["agreement"] == before
    assert json.dumps(before)


def test_repeats_tell_how_a_reader_agrees_with_themselves(open_one):
    room = open_one(4, repeats=1, readers=("Anna", "Ben"))
    room.finish("Anna", mark=False)
    told = room.visit("owner").get("/api/owner")["repeats"]
    assert [(row["name"], row["n_images"], row["same"]) for row in told] == [("Anna", 1, 1)]
