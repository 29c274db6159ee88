import pytest

from overread.apps.room._people import add_person, revoke
from overread.apps.room._room import open_room
from overread.errors import TableError, UsageError
from reading_room import OpenRoom, make_study, write_detections


def test_a_room_is_opened_in_a_study_only(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        open_room(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="overread init"):
        open_room(tmp_path / "empty")
    assert not (tmp_path / "empty" / "reading").exists()


def test_others_on_the_machine_cannot_look_into_the_store(tmp_path):
    room = open_room(make_study(tmp_path / "study", 1))
    assert (tmp_path / "study" / "reading").stat().st_mode & 0o077 == 0
    room.store.close()


def test_images_that_cannot_be_read_are_on_no_worklist(tmp_path):
    folder = make_study(tmp_path / "study", 3)
    (folder / "images/case1.png").write_bytes(b"broken")
    room = OpenRoom(folder)
    assert set(room.ready.bad_images) == {"case1"}
    assert room.ready.added == {"Anna": 2, "Ben": 2}
    room.room.store.close()


def test_without_any_image_the_room_stays_closed(tmp_path):
    folder = make_study(tmp_path / "study", 1)
    (folder / "images/case0.png").write_bytes(b"broken")
    with pytest.raises(UsageError, match="no image can be read"):
        OpenRoom(folder)


def test_a_plan_is_kept_until_worklists_are_made(tmp_path):
    folder = make_study(tmp_path / "study", 4)
    room = open_room(folder)
    room.change_plan(fewest=2, most=2, seed=3)
    room.store.close()
    again = open_room(folder)
    assert (again.plan.fewest, again.plan.seed) == (2, 3)
    add_person(again.store, "Anna", "reader")
    with pytest.raises(UsageError, match="to be read by 2 readers, and there are 1"):
        again.prepare()
    add_person(again.store, "Ben", "reader")
    again.prepare()
    again.change_plan(fewest=2, most=2)
    with pytest.raises(UsageError, match="cannot change any more"):
        again.change_plan(seed=4)
    again.store.close()


@pytest.mark.parametrize("wanted", [{"design": "random"}, {"repeats": -1}])
def test_a_plan_that_cannot_be_is_refused(tmp_path, wanted):
    room = open_room(make_study(tmp_path / "study", 1))
    with pytest.raises(UsageError, match="--"):
        room.change_plan(**wanted)
    room.store.close()


def test_a_reader_who_left_is_replaced(tmp_path):
    room = OpenRoom(make_study(tmp_path / "study", 4), ("Anna", "Ben"), fewest=2, most=2)
    anna = room.visit("Anna")
    anna.pass_over(anna.items()[0])
    revoke(room.room.store, "Anna")
    add_person(room.room.store, "Cleo", "reader")
    added = room.room.prepare().added
    assert added == {"Ben": 0, "Cleo": 3}
    room.room.store.close()


def test_images_that_the_detector_has_not_seen_are_not_read_with_it(tmp_path):
    folder = make_study(tmp_path / "study", 2)
    detector = write_detections(tmp_path / "d.csv", [("case0", 10, 10)])
    room = OpenRoom(folder, detector=detector, design="sequential")
    with room.room.store.transaction() as database:
        database.execute("DELETE FROM detected WHERE image_id = 'case1'")
    with pytest.raises(UsageError, match="'case1' has not been through the detector"):
        room.room.prepare()
    assert room.room.prepare(detector).bad_images == {}
    room.room.store.close()


def test_the_name_of_the_study_is_that_of_its_settings(tmp_path):
    folder = make_study(tmp_path / "study", 1)
    (folder / "study.toml").write_text('name = "Nodules of 2026"\n')
    room = open_room(folder)
    assert room.name == "Nodules of 2026"
    room.store.close()


@pytest.mark.parametrize("label", ["", " a", "x" * 65, "a\nb"])
def test_labels_are_short_texts(tmp_path, label):
    room = open_room(make_study(tmp_path / "study", 1))
    with pytest.raises(UsageError, match="--labels"):
        room.change_labels([label])
    room.store.close()
