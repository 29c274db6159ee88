"""The journal of a node: states, what is sent, and files that are none."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from overread.errors import FormatError, StorageError
from overread.node.ledger import Ledger


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
    assert [ledger.count_try("1") for _ in range(3)] == [1, 2, 3]
    ledger.wait_again("1")
    assert ledger.count_try("1") == 1
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
    with sqlite3.connect(tmp_path / "later") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(FormatError, match="version 99"):
        Ledger(tmp_path / "later")
