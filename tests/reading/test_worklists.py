from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.apps.room._app import Address, make_app
from overread.apps.room._people import add_person
from overread.apps.room._room import open_room
from overread.apps.room._tables import read_arm
from overread.apps.room._worklists import (
    Plan,
    TrainingSet,
    _append_items,
    assign_images,
    order_presentations,
    parse_assignment,
)
from overread.errors import TableError, UsageError
from reading_room import MM, Visitor, make_study, open_limits, write_detections, write_readings

READERS = [f"R{number}" for number in range(8)]


@given(st.integers(1, 60), st.integers(2, 8), st.data())
def test_each_image_has_its_readers_and_loads_are_even(n_images, n_readers, data):
    fewest = data.draw(st.integers(1, n_readers))
    most = data.draw(st.integers(fewest, n_readers))
    images = [f"i{number}" for number in range(n_images)]
    plan = Plan(fewest, most, seed=data.draw(st.integers(0, 99)))
    chosen = assign_images(images, READERS[:n_readers], {}, plan)
    per_image = Counter(image for own in chosen.values() for image in own)
    assert set(per_image) == set(images)
    assert all(fewest <= count <= most for count in per_image.values())
    assert all(len(set(own)) == len(own) for own in chosen.values())
    loads = [len(own) for own in chosen.values()]
    assert max(loads) - min(loads) <= 1


def test_four_to_five_of_eight_uses_both_numbers():
    images = [f"i{number}" for number in range(200)]
    chosen = assign_images(images, READERS, {}, Plan(4, 5))
    sizes = Counter(Counter(image for own in chosen.values() for image in own).values())
    assert set(sizes) == {4, 5}
    assert 60 < sizes[4] < 140


def test_all_images_go_to_all_readers():
    chosen = assign_images(["a", "b"], ["R1", "R2"], {"a": ["R1"]}, Plan())
    assert chosen == {"R1": ["b"], "R2": ["a", "b"]}


def test_a_reader_who_comes_later_takes_what_is_missing():
    images = [f"i{number}" for number in range(30)]
    first = assign_images(images, READERS[:3], {}, Plan(3, 3))
    given_to = {image: [reader for reader, own in first.items() if image in own] for image in images}
    assert assign_images(images, READERS[:4], given_to, Plan(3, 3))["R3"] == []
    without = {image: [reader for reader in names if reader != "R0"] for image, names in given_to.items()}
    filled = assign_images(images, ["R1", "R2", "R3"], without, Plan(3, 3))
    assert filled == {"R1": [], "R2": [], "R3": filled["R3"]}
    assert sorted(filled["R3"]) == sorted(images)


def test_the_same_seed_gives_the_same_lists_and_readers_differ():
    images = [f"i{number}" for number in range(40)]
    plan = Plan(2, 3, repeats=5, seed=7)
    assert assign_images(images, READERS, {}, plan) == assign_images(images, READERS, {}, plan)
    one, two = (order_presentations(images, reader, plan) for reader in ("R1", "R2"))
    assert one == order_presentations(images, "R1", plan)
    assert one != two
    assert one != order_presentations(images, "R1", Plan(repeats=5, seed=8))


@given(st.integers(0, 40), st.integers(0, 10), st.integers(0, 50))
def test_repeats_come_in_the_second_half_after_their_first_time(n_images, repeats, seed):
    images = [f"i{number}" for number in range(n_images)]
    order = order_presentations(images, "R1", Plan(repeats=repeats, seed=seed))
    assert sorted(image for image, time in order if time == 0) == sorted(images)
    again = [image for image, time in order if time == 1]
    assert len(again) == len(set(again)) == min(repeats, n_images // 2)
    for image in again:
        first, second = order.index((image, 0)), order.index((image, 1))
        assert first < n_images // 2 <= second


def test_assignments_are_read_and_others_refused():
    assert [parse_assignment(text) for text in ("all", "3", "4-5")] == [(0, 0), (3, 3), (4, 5)]
    for text in ("", "0", "5-4", "four", "-3", "3-", "1e3", "99999"):
        with pytest.raises(UsageError, match="--assign"):
            parse_assignment(text)


def test_a_second_session_can_be_added_when_the_first_is_under_way(open_one, tmp_path):
    """So the detector can be trained on the first; what was read stays, and nothing else may change."""
    room = open_one(4)
    anna = room.visit("Anna")
    before = anna.items()
    anna.pass_over(before[0])
    with pytest.raises(UsageError, match="--design independent"):
        room.room.change_plan(design="sequential")
    with pytest.raises(UsageError, match="cannot change"):
        room.room.change_plan(design="independent", repeats=2)
    detector = write_detections(tmp_path / "d.csv", [("case0", 10, 10)])
    assert room.room.prepare(detector)[1] == {"Anna": 4, "Ben": 4}
    assert room.room.plan.design == "independent"
    rows = anna.get("/api/worklist")
    assert [row["item"] for row in rows[:4]] == before
    assert [row["kind"] for row in rows] == ["reading"] * 4 + ["second"] * 4
    assert sorted(room.image_of(row["item"]) for row in rows[4:]) == [f"case{number}" for number in range(4)]
    assert room.room.prepare(detector)[1] == {"Anna": 0, "Ben": 0}


def test_images_that_come_later_are_read_before_the_second_session(open_one, tmp_path):
    """Wherever they stand in the list: without the detector first."""
    detector = write_detections(tmp_path / "d.csv", [("case0", 10, 10)])
    room = open_one(3, detector=detector, design="independent")
    _append_items(room.room.store, "Anna", [("case9", 0, "reading", "unaided")])
    rows = room.visit("Anna").get("/api/worklist")
    assert [row["kind"] for row in rows] == ["reading"] * 4 + ["second"] * 3
    assert room.image_of(rows[3]["item"]) == "case9"
    assert [row["position"] for row in rows] == list(range(1, 8))


@pytest.fixture
def training(tmp_path):
    """Two readers agree on one object at (20, 30) px of case0; one of them marked another."""
    folder = make_study(tmp_path / "training", 2)
    places = [("R1", 20, 30), ("R2", 20.5, 30), ("R1", 60, 40)]
    marks = [("case0", reader, x * MM, y * MM) for reader, x, y in places]
    write_readings(folder, ["case0", "case1"], ["R1", "R2"], marks)
    return folder


def test_feedback_tells_what_was_found_and_what_was_wrong(training):
    known = TrainingSet(training)
    marks = [{"id": "right", "x": 21.0, "y": 31.0}, {"id": "wrong", "x": 60.0, "y": 40.0}]
    told = known.feedback("case0", marks, (MM, MM))
    assert [(o["found"], round(o["x"])) for o in told["objects"]] == [(True, 20)]
    assert told["false_marks"] == ["wrong"]
    assert known.feedback("case0", [], (MM, MM))["objects"][0]["found"] is False
    assert known.feedback("case1", [], (MM, MM)) == {"objects": [], "false_marks": []}


def test_training_comes_first_answers_after_the_lock_only_and_is_in_no_table(training, tmp_path):
    room = open_room(make_study(tmp_path / "study", 2, seed=1)).with_training(training)
    secret = add_person(room.store, "Anna", "reader")
    room.prepare()
    anna = Visitor(make_app(room, Address("http://127.0.0.1"), open_limits()), secret, "http://127.0.0.1")
    kinds = [entry["kind"] for entry in anna.get("/api/worklist")]
    assert kinds == ["training", "training", "reading", "reading"]
    query = "SELECT item FROM items WHERE kind = 'training' AND image_id = 'case0'"
    (item,) = room.store.rows(query)[0]
    anna.draw(item, 21, 31)
    assert "feedback" not in anna.state(item)
    assert anna.do(item, "lock")["feedback"]["objects"][0]["found"] is True
    assert anna.ask("GET", f"/api/items/{item}/pixels").status_code == 200
    assert read_arm(room.store, "unaided").readings.empty
    room.store.close()


def test_a_folder_without_marks_cannot_train(tmp_path):
    with pytest.raises(TableError, match="marks"):
        TrainingSet(make_study(tmp_path / "empty", 1))
