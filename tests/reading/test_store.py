import pandas as pd
import pytest

from overread.apps.room._room import open_room
from overread.apps.room._store import Act, RefusalError, Store, find_damage
from overread.apps.room._tables import take_in_marks
from overread.errors import FormatError
from overread.tables import write_table
from reading_room import make_study


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


COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def taken_in(tmp_path):
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
    with pytest.raises(FormatError, match="'labels' is not as the log has it"):
        Store(tmp_path / "room.sqlite")
    (tmp_path / "room.sqlite").unlink()
    assert [path.name for path in tmp_path.iterdir()] == []
