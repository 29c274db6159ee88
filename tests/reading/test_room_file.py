"""The file of a room is checked when it is opened, and holds every locked reading by itself."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from overread.apps.room._room import open_room
from overread.apps.room._store import Act, RefusalError, Store, find_damage
from overread.apps.room._tables import read_arm, take_in_marks
from overread.errors import DataWarning, FormatError
from reading_room import OpenRoom, make_study, write_detections, write_readings

ROOM = "reading/room.sqlite"


@pytest.fixture(scope="module")
def read_study(tmp_path_factory):
    """A room with all kinds of acts, closed; not to be changed."""
    folder = tmp_path_factory.mktemp("file")
    detector = write_detections(folder / "d.csv", [(f"case{n}", x, 30) for n in range(3) for x in (20, 60)])
    room = OpenRoom(make_study(folder / "study", 3), detector=detector, design="sequential")
    rng = np.random.default_rng(3)
    for name in ("Anna", "Ben"):
        visitor = room.visit(name)
        for item in visitor.items()[:2]:
            marks = [visitor.draw(item, *rng.uniform(10, 50, 2).tolist()) for _ in range(3)]
            visitor.act("DELETE", f"/api/items/{item}/marks/{marks[0]}")
            visitor.change(item, marks[1], 9, 9, ry=2, comment="so")
            visitor.do(item, "comment", comment="seen")
            visitor.do(item, "time", active_ms=5, paused_ms=1)
            visitor.do(item, "lock")
            for decision in ("accept", "dismiss", "accept"):
                visitor.do(item, "decisions/D1", decision=decision)
            visitor.do(item, "decisions/D2", decision="accept", mark="mark-of-d2", confidence=40)
            visitor.act("DELETE", f"/api/items/{item}/marks/mark-of-d2")
            visitor.do(item, "decisions/D2", decision="dismiss", reason="benign")
            visitor.do(item, "finish")
        visitor.act("POST", f"/api/items/{visitor.items()[2]}/nothing", on=True)
    room.room.store.close()
    return folder / "study"


@pytest.fixture
def study(read_study, tmp_path):
    return shutil.copytree(read_study, tmp_path / "study")


def change(study, *statements):
    with closing(sqlite3.connect(study / ROOM)) as database:
        for statement in statements:
            database.executescript(statement)
        database.commit()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM marks WHERE rowid = (SELECT min(rowid) FROM marks)", "has 1 marks, but 2 in the log"),
        ("UPDATE marks SET x = x + 1e-9 WHERE origin = 'drawn'", "differs from the log"),
        ("UPDATE marks SET confidence = 10 WHERE origin = 'accepted'", "differs from the log"),
        ("UPDATE items SET version = version - 1", "in the log"),
        ("DELETE FROM items WHERE phase = 'unaided'", "of a worklist is missing"),
        ("DELETE FROM decisions WHERE decision = 'dismiss'", "decisions"),
        ("DELETE FROM people WHERE person = 'Chair'", "'Chair'"),
        ("DELETE FROM settings WHERE name = 'plan'", "'plan'"),
        ("DELETE FROM items WHERE phase = 'done'", "a row of"),
        ("UPDATE marks SET comment = CAST(x'ff' AS TEXT)", "damaged"),
        ("UPDATE marks SET label = CAST(x'6eff' AS TEXT)", "damaged"),
        ("PRAGMA user_version = 0", "has tables but no version"),
        ("PRAGMA user_version = 99", "of version 99"),
        ("DROP TRIGGER log_is_not_changed; UPDATE log SET body = '{' WHERE what = 'mark'", "cannot be read"),
    ],
)
def test_lost_and_damaged_rows_are_named(study, command, statement, told):
    """Exports of 25 instead of 28 marks ended with exit code 0, text that is not UTF-8 with a traceback."""
    change(study, statement)
    code, _, err = command("read", study, "--export")
    assert code == 4
    assert str(study / ROOM) in err
    assert told in err
    assert len(err.strip().splitlines()) == 1
    assert not (study / "marks.csv").exists()


@pytest.mark.parametrize("turns", [16, pytest.param(40, marks=pytest.mark.slow)])
def test_flipped_bits_change_no_export_without_a_word(study, command, tmp_path, turns):
    """Each export of a damaged file is refused, or equals the one of the file that is whole."""
    command("read", study, "--export")
    names = ("marks.csv", "readings.csv", "reading/aided/marks.csv", "reading/aided/readings.csv")
    right = [(study / name).read_bytes() for name in names]
    content = bytearray((study / ROOM).read_bytes())
    rng = np.random.default_rng(21)
    codes = []
    for turn in range(turns):
        place = tmp_path / f"turn{turn}"
        shutil.copytree(study, place)
        for name in names:
            (place / name).unlink()
        damaged = bytearray(content)
        for at in rng.integers(100, len(content), 4):
            damaged[at] ^= 1 << int(rng.integers(8))
        (place / ROOM).write_bytes(damaged)
        codes.append(command("read", place, "--export")[0])
        if codes[-1] == 0:
            assert [(place / name).read_bytes() for name in names] == right
        shutil.rmtree(place)
    assert set(codes) <= {0, 4, 5}
    assert codes.count(4) + codes.count(5) >= turns // 4


def test_an_empty_file_and_one_that_is_gone_are_not_taken_as_a_new_room(study, command):
    (study / ROOM).write_bytes(b"")
    code, _, err = command("read", study, "--add-reader", "Zoe")
    assert (code, "is empty" in err) == (4, True)
    (study / ROOM).unlink()
    (study / f"{ROOM}-wal").write_bytes(b"log")
    code, _, err = command("read", study, "--add-reader", "Zoe")
    assert (code, "Restore the file" in err) == (4, True)
    assert (study / f"{ROOM}-wal").read_bytes() == b"log"


def test_the_file_alone_holds_each_locked_reading_and_a_lost_log_is_named(tmp_path, command):
    """A session lived in the write-ahead log: a copy of the file alone had none of it, and said nothing."""
    room = OpenRoom(make_study(tmp_path / "study", 3))
    anna = room.visit("Anna")
    first, second = anna.items()[:2]
    anna.draw(first, 30, 30)
    anna.do(first, "lock")
    anna.draw(second, 20, 20)
    copy = make_study(tmp_path / "copy", 3)
    (copy / "reading").mkdir()
    shutil.copy(tmp_path / "study" / ROOM, copy / ROOM)
    room.room.store.close()
    code, out, err = command("read", copy, "--export")
    assert code == 0
    assert "room.sqlite-wal is missing" in err
    assert "changes after the last lock may be lost" in err
    assert (copy / "marks.csv").read_text().count("Anna") == 1
    assert "wrote" in out
    # Said once: closed by us, the file is whole. So is one that was closed before it was copied.
    assert command("read", copy, "--export")[2] == ""
    shutil.copy(tmp_path / "study" / ROOM, copy / ROOM)
    (copy / "marks.csv").unlink()
    (copy / "readings.csv").unlink()
    assert command("read", copy, "--export")[2] == ""


def test_a_room_that_was_killed_goes_on_without_a_word(tmp_path, command):
    """The write-ahead log is there: nothing is lost, and nothing is said, then or later."""
    room = OpenRoom(make_study(tmp_path / "study", 2))
    room.visit("Anna").draw(room.item_of("Anna", "case0"), 30, 30)
    shutil.copytree(tmp_path / "study", tmp_path / "killed")
    room.room.store.close()
    for _ in range(2):
        assert command("read", tmp_path / "killed", "--owner-link")[::2] == (0, "")
    store = Store(tmp_path / "killed" / ROOM)
    assert len(store.rows("SELECT 1 FROM marks")) == 1
    store.close()


def test_a_room_of_version_0_2_opens_without_a_word(study, command):
    """Rooms were left in the other mode when they were closed. So does a whole one of today, again and again."""
    for _ in range(2):
        assert command("read", study, "--export")[::2] == (0, "")
    change(study, "PRAGMA application_id = 0", "PRAGMA journal_mode = WAL")
    assert not (study / f"{ROOM}-wal").exists()
    assert command("read", study, "--export")[::2] == (0, "")
    change(study, "PRAGMA journal_mode = WAL")
    with pytest.warns(DataWarning, match="-wal is missing"):
        Store(study / ROOM).close()


def test_the_backup_of_the_how_to_is_whole_while_the_room_is_open(open_one, tmp_path):
    anna = open_one(2).visit("Anna")
    first, second = anna.items()
    anna.draw(first, 30, 30)
    anna.do(first, "lock")
    anna.draw(second, 20, 20)
    script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', sys.argv[2:])"
    backup = tmp_path / "backup.sqlite"
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "study" / ROOM), str(backup)], check=True)
    store = Store(backup)
    assert len(store.rows("SELECT 1 FROM marks")) == 2
    assert len(read_arm(store, "unaided").marks) == 1
    store.close()


def test_a_detection_cannot_take_the_id_of_another_mark(open_one, tmp_path, command):
    """Two accepted under one id, then deleted, left a room that did not open; a drawn mark would be replaced."""
    detector = write_detections(tmp_path / "d.csv", [("case0", 20, 30), ("case0", 60, 30)])
    room = open_one(1, detector=detector, design="sequential")
    anna = room.visit("Anna")
    item = anna.items()[0]
    drawn = anna.draw(item, 40, 20)
    anna.do(item, "lock")
    anna.do(item, "decisions/D1", decision="accept", mark="the-same-id")
    for taken in ("the-same-id", drawn):
        assert anna.refused(item, "decisions/D2", decision="accept", mark=taken) == (422, "value")
    # The same detection may keep its id.
    anna.do(item, "decisions/D1", decision="accept", mark="the-same-id", confidence=30)
    anna.act("DELETE", f"/api/items/{item}/marks/the-same-id")
    assert [mark["id"] for mark in anna.state(item)["marks"]] == [drawn]
    room.room.store.close()
    assert command("read", tmp_path / "study", "--owner-link")[::2] == (0, "")


def test_a_room_that_does_not_open_is_closed(study, tmp_path, command):
    """Its training images moved away: the next time the room said that acts may be lost, and none were."""
    trained = make_study(tmp_path / "trained", 1)
    store = Store(study / ROOM)
    store.set_setting("training", "../trained")
    store.close()
    trained.rename(tmp_path / "moved")
    assert command("read", study, "--export")[0] == 4
    shutil.copytree(study, tmp_path / "copy", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    (tmp_path / "moved").rename(trained)
    assert command("read", tmp_path / "copy", "--export")[::2] == (0, "")


def act(op="op-00001", **body):
    return Act("Anna", op, "mark", "item-1", body)


def test_a_refused_act_leaves_nothing_and_two_people_may_use_one_id(store):
    def refuse(database):
        database.execute("INSERT INTO settings VALUES ('a', '1')")
        raise RefusalError("no")

    with pytest.raises(RefusalError):
        store.do_once(act(), refuse)
    assert store.setting("a") is None
    assert not store.rows("SELECT * FROM log")
    assert store.do_once(act(), lambda database: {"done": True}) == {"done": True}
    other = Act("Ben", "op-00001", "mark", "item-2", {"x": 2})
    assert store.do_once(other, lambda database: {"who": "Ben"}) == {"who": "Ben"}


def test_the_log_keeps_who_did_what_when_and_only_grows(store):
    store.do_once(act(x=1.5), lambda database: {})
    for _ in range(2):
        store.set_setting("labels", ["a"])
    for change in ("UPDATE log SET what = 'x'", "DELETE FROM log"):
        with pytest.raises(FormatError, match="the log only grows"), store.transaction() as database:
            database.execute(change)
    acted, changed = map(tuple, store.rows("SELECT person, what, item, op, body FROM log"))
    assert acted == ("Anna", "mark", "item-1", "op-00001", '{"x": 1.5}')
    assert changed == ("", "setting", "", "", '{"labels": ["a"]}')
    assert store.rows("SELECT at FROM log")[0]["at"].startswith("20")


def test_a_value_outside_of_its_column_is_refused(store):
    with pytest.raises(FormatError), store.transaction() as database:
        database.execute("INSERT INTO people VALUES ('x', 'king', NULL, '', NULL)")


@pytest.fixture
def taken_in(tmp_path):
    """A room that has taken in two readings with one mark."""
    folder = make_study(tmp_path / "study", 2)
    write_readings(folder, ["case0", "case1"], ["Old"], [("case0", "Old", 10.0, 10.0)])
    room = open_room(folder)
    room.prepare_pictures()
    for _ in range(2):
        take_in_marks(room.store, folder)
    yield room.store
    room.store.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT 1", None),
        ("DELETE FROM marks", "0 of 1 imported marks remain"),
        ("DELETE FROM items WHERE clear", "1 of 2 imported readings remain"),
    ],
)
def test_readings_that_were_taken_in_are_counted(taken_in, statement, told):
    with taken_in.transaction() as database:
        database.execute(statement)
        assert find_damage(database) == told


def test_a_damaged_store_is_let_go(tmp_path):
    store = Store(tmp_path / "room.sqlite")
    store.set_setting("labels", ["a"])
    with store.transaction() as database:
        database.execute("DELETE FROM settings")
    store.close()
    with pytest.raises(FormatError, match="'labels' differs from the log"):
        Store(tmp_path / "room.sqlite")
    (tmp_path / "room.sqlite").unlink()
    assert [path.name for path in tmp_path.iterdir()] == []
