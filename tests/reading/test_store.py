import sqlite3

import pandas as pd
import pytest

from overread.apps.room._room import open_room
from overread.apps.room._store import Act, RefusalError, Store, find_damage
from overread.apps.room._tables import take_in_marks
from overread.errors import FormatError
from overread.tables import write_table
from reading_room import make_study


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "room.sqlite")
    yield opened
    opened.close()


def act(op="op-00001", **body):
    return Act("Anna", op, "mark", "item-1", body)


def test_an_act_is_done_once_however_often_it_is_asked(store):
    done = []

    def work(database):
        done.append(1)
        return {"version": len(done)}

    assert store.do_once(act(x=1), work) == {"version": 1}
    assert store.do_once(act(x=1), work) == {"version": 1}
    assert store.do_once(act(x=1, version=7), work) == {"version": 1}
    assert done == [1]


def test_an_id_that_was_used_for_another_act_is_refused(store):
    store.do_once(act(x=1), lambda database: {})
    with pytest.raises(RefusalError, match="used for another act"):
        store.do_once(act(x=2), lambda database: {})


def test_two_people_may_have_the_same_id(store):
    store.do_once(act(x=1), lambda database: {"who": "Anna"})
    other = Act("Ben", "op-00001", "mark", "item-2", {"x": 2})
    assert store.do_once(other, lambda database: {"who": "Ben"}) == {"who": "Ben"}


def test_a_refused_act_leaves_nothing_and_may_be_asked_again(store):
    def refuse(database):
        database.execute("INSERT INTO settings VALUES ('a', '1')")
        raise RefusalError("no")

    with pytest.raises(RefusalError):
        store.do_once(act(), refuse)
    assert store.setting("a") is None
    assert not store.rows("SELECT * FROM log")
    assert store.do_once(act(), lambda database: {"done": True}) == {"done": True}


@pytest.mark.parametrize("change", ["UPDATE log SET what = 'x'", "DELETE FROM log"])
def test_the_log_only_grows(store, change):
    store.note("Anna", "enter")
    with pytest.raises(FormatError, match="the log only grows"), store.transaction() as database:
        database.execute(change)
    assert [row["what"] for row in store.rows("SELECT what FROM log")] == ["enter"]


def test_the_log_keeps_who_what_when_and_the_values(store):
    store.do_once(act(x=1.5), lambda database: {})
    row = store.rows("SELECT * FROM log")[0]
    assert (row["person"], row["what"], row["item"], row["op"]) == ("Anna", "mark", "item-1", "op-00001")
    assert row["body"] == '{"x": 1.5}'
    assert row["at"].startswith("20")


def test_settings_are_kept_with_their_changes(store):
    store.set_setting("labels", ["a"])
    store.set_setting("labels", ["a"])
    store.set_setting("labels", ["b"])
    assert store.setting("labels") == ["b"]
    assert [row["body"] for row in store.rows("SELECT body FROM log")] == [
        '{"labels": ["a"]}',
        '{"labels": ["b"]}',
    ]


def test_a_value_outside_of_its_column_is_refused(store):
    with pytest.raises(FormatError), store.transaction() as database:
        database.execute("INSERT INTO people VALUES ('x', 'king', NULL, '', NULL)")
    assert sqlite3.sqlite_version_info > (3, 24)


COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def store_of_store_check(tmp_path):
    """A room that has taken in two readings with one mark."""
    folder = make_study(tmp_path / "study", 2)
    write_table(
        pd.DataFrame([("case0", "Old", "m", 10.0, 10.0, 4.0, 3.0, 0.0)], columns=COLUMNS),
        folder / "marks.csv",
    )
    write_table(pd.DataFrame({"image_id": ["case0", "case1"], "reader_id": "Old"}), folder / "readings.csv")
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
        ("DELETE FROM marks", "0 of 1 marks that were taken in are there"),
        ("DELETE FROM items WHERE clear", "1 of 2 readings that were taken in are there"),
    ],
)
def test_readings_that_were_taken_in_are_counted(store_of_store_check, statement, told):
    with store_of_store_check.transaction() as database:
        database.execute(statement)
        assert find_damage(database) == told


def test_a_damaged_store_is_let_go(tmp_path):
    store_of_store_check = Store(tmp_path / "room.sqlite")
    store_of_store_check.set_setting("labels", ["a"])
    with store_of_store_check.transaction() as database:
        database.execute("DELETE FROM settings")
    store_of_store_check.close()
    with pytest.raises(FormatError, match="'labels' is not as the log has it"):
        Store(tmp_path / "room.sqlite")
    (tmp_path / "room.sqlite").unlink()
    assert [path.name for path in tmp_path.iterdir()] == []
