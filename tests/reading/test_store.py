from __future__ import annotations

import sqlite3

import pytest

from overread.apps.room._store import Act, RefusalError, Store
from overread.errors import FormatError


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
