"""The journal of a node: states, what is sent, and files that are none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from overread.apps.node._spool import Ledger, _empty_journal
from overread.errors import FormatError, StorageError


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "node.sqlite")
    yield opened
    opened.close()


def receive(ledger, *uids):
    for uid in uids:
        ledger.receive(uid, f"{uid}.9", "digest", "MODALITY")


def test_the_way_of_an_image(ledger):
    receive(ledger, "1", "2")
    assert ledger.next_received().sop_uid == "1"
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 3)
    assert ledger.next_received().sop_uid == "2"
    first, second = ledger.unsent(10)
    assert (first.uid, first.file, first.sop_uid) == ("a", "a.dcm", "1")
    assert [one.uid for one in ledger.unsent(1)] == ["a"]
    assert not ledger.mark_sent(first)
    assert ledger.find("1").state == "answered"
    assert ledger.mark_sent(second)
    assert ledger.find("1").state == "done"
    assert ledger.unsent(10) == []
    assert ledger.count_waiting() == 1
    assert ledger.files_of("1") == ["a.dcm", "b.dcm"]


def test_what_is_committed_is_there_for_who_comes_next(ledger, tmp_path):
    receive(ledger, "1")
    ledger.answer("1", [Path("a.dcm")], 0)
    other = Ledger(tmp_path / "node.sqlite")
    assert [one.uid for one in other.unsent(10)] == ["a"]
    other.mark_sent(other.unsent(10)[0])
    other.close()
    assert ledger.find("1").state == "done"


def test_received_again_only_what_failed_begins_anew(ledger):
    receive(ledger, "1", "1")
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 0)
    receive(ledger, "1")
    assert ledger.find("1").state == "answered"
    ledger.mark_sent(ledger.unsent(1)[0])
    ledger.fail("1", "a reason")
    assert (ledger.find("1").state, ledger.find("1").reason) == ("failed", "a reason")
    assert ledger.unsent(10) == []
    receive(ledger, "1")
    assert (ledger.find("1").state, ledger.find("1").reason) == ("received", "")
    # The document that the destination has is not sent again.
    ledger.answer("1", [Path("a.dcm"), Path("b.dcm")], 0)
    assert [one.uid for one in ledger.unsent(10)] == ["b"]


def test_an_answer_that_was_sent_before_ends_the_way(ledger):
    receive(ledger, "1")
    ledger.answer("1", [Path("a.dcm")], 0)
    ledger.mark_sent(ledger.unsent(1)[0])
    ledger.wait_again("1")
    ledger.answer("1", [Path("a.dcm")], 0)
    assert ledger.find("1").state == "done"


def test_tries_and_refusals_are_counted(ledger):
    receive(ledger, "1")
    for _ in range(3):
        ledger.begin_work("1")
    assert ledger.find("1").tries == 1
    assert [ledger.count_death("1") for _ in range(3)] == [1, 2, 3]
    ledger.wait_again("1")
    assert ledger.find("1").tries == 0
    ledger.answer("1", [Path("a.dcm")], 0)
    answer = ledger.unsent(1)[0]
    assert [ledger.refuse(answer, "no") for _ in range(2)] == [1, 2]
    assert ledger.find("1").reason == "no"
    ledger.mark_sent(answer)
    assert ledger.find("1").reason == ""


def test_the_worklist_sums_by_study(ledger):
    for uid, study in (("1", "8"), ("2", "8"), ("3", "9")):
        ledger.receive(uid, study, "digest", "MODALITY")
    ledger.answer("1", [Path("a.dcm")], 2)
    ledger.mark_sent(ledger.unsent(1)[0])
    ledger.fail("3", "a reason")
    names = ["study_uid", "images", "done", "waiting", "failed", "detections", "reason"]
    assert ledger.worklist()[names].to_numpy().tolist() == [
        ["8", 2, 1, 1, 0, 2, ""],
        ["9", 1, 0, 0, 1, 0, "a reason"],
    ]


def test_an_empty_worklist(ledger):
    assert ledger.worklist().empty


def test_what_goes_wrong_inside_leaves_nothing(ledger):
    receive(ledger, "1")
    with pytest.raises(FormatError):
        ledger.answer("2", [Path("a.dcm")], 0)  # an answer to no image
    assert ledger.unsent(10) == []
    receive(ledger, "2")


def test_files_that_are_no_journal(tmp_path):
    (tmp_path / "text").write_text("no journal" * 1000)
    with pytest.raises(FormatError, match="text: is not a node's journal"):
        Ledger(tmp_path / "text")
    with pytest.raises(StorageError, match="nowhere"):
        Ledger(tmp_path / "nowhere" / "node.sqlite")
    (tmp_path / "later").write_bytes(_empty_journal())
    with closing(sqlite3.connect(tmp_path / "later")) as database:
        database.execute("PRAGMA user_version = 99")
        database.commit()
    with pytest.raises(FormatError, match="version 99"):
        Ledger(tmp_path / "later")


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (x)", "PRAGMA application_id = 7", "PRAGMA journal_mode = WAL"]
)
def test_the_database_of_another_program_stays_as_it_is(tmp_path, statement, read_only):
    path = tmp_path / "node.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.execute("CREATE TABLE other (x)")
        database.commit()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(FormatError, match="is not a node's journal; it stays as it is"):
        Ledger(path, read_only=read_only)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_who_reads_changes_nothing(tmp_path):
    path = tmp_path / "node.sqlite"
    with pytest.raises(StorageError):
        Ledger(path, read_only=True)
    assert not list(tmp_path.iterdir())
    writer = Ledger(path)
    receive(writer, "1")
    reader = Ledger(path, read_only=True)
    assert reader.count_waiting() == 1
    receive(writer, "2")
    assert reader.count_waiting() == 2
    with pytest.raises(StorageError, match="readonly"):
        receive(reader, "3")
    reader.close()
    writer.close()
    before = path.read_bytes()
    again = Ledger(path, read_only=True)
    assert again.count_waiting() == 2
    again.close()
    assert path.read_bytes() == before


def test_who_reads_sees_what_a_killed_node_wrote(tmp_path):
    writer = Ledger(tmp_path / "node.sqlite")
    receive(writer, "1", "2")
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("node.sqlite*"):  # as they are on the device at this moment
        if not file.name.endswith("-shm"):
            (killed / file.name).write_bytes(file.read_bytes())
    writer.close()
    assert (killed / "node.sqlite-wal").stat().st_size > 0
    reader = Ledger(killed / "node.sqlite", read_only=True)
    assert reader.count_waiting() == 2
    reader.close()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", ["node.sqlite", "node.sqlite-wal", "node.sqlite-shm"])
def test_a_journal_is_no_link(tmp_path, name, read_only):
    inside, outside = tmp_path / "spool", tmp_path / "outside"
    inside.mkdir()
    Ledger(inside / "node.sqlite").close()
    if name == "node.sqlite":
        (inside / name).rename(outside)
    else:
        outside.write_bytes(b"of somebody else")
    before = outside.read_bytes()
    (inside / name).symlink_to(outside)
    with pytest.raises(StorageError, match="is a link"):
        Ledger(inside / "node.sqlite", read_only=read_only)
    assert outside.read_bytes() == before


def test_a_journal_is_private_from_its_first_moment_on(tmp_path):
    ledger = Ledger(tmp_path / "node.sqlite")
    receive(ledger, "1")
    modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    ledger.close()
    assert modes == dict.fromkeys(["node.sqlite", "node.sqlite-shm", "node.sqlite-wal"], 0o600)
