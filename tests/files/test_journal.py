"""Entries that were told are there after a kill, half an entry is none; and one process at a time in a folder."""

import json
import os
import signal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overread.errors import LockedError, StorageError
from overread.files import Journal, folder_lock, run_lock
from overread.files import _journal as module

VALUES = {"a": {"rows": [52.374], "text": "é"}, "b": [None, True, "\ud800"], "": 0.1}


@pytest.fixture
def journal(tmp_path) -> Journal:
    with Journal(tmp_path / "journal", "asked") as made:
        for key, value in VALUES.items():
            made.add(key, value)
    return made


def keys(path, asked="asked"):
    return [key for key, _ in Journal(path, asked).entries()]


def test_entries_come_back_in_their_order_and_the_last_of_a_key_counts(journal):
    assert dict(journal.entries()) == VALUES
    assert list(dict(journal.entries())) == list(VALUES)
    with journal:
        journal.add("a", 2)
    assert dict(journal.entries())["a"] == 2


def test_nothing_is_written_before_the_first_entry(tmp_path):
    with Journal(tmp_path / "journal", lock=(".lock", "busy")) as journal:
        assert list(journal.entries()) == []
    assert not list(tmp_path.iterdir())


def test_under_another_request_it_tells_nothing_and_begins_anew(journal):
    assert keys(journal.path, "other") == []
    with Journal(journal.path, "other") as other:
        other.add("c", {})
    assert (keys(journal.path), keys(journal.path, "other")) == ([], ["c"])


def test_a_kill_at_any_byte_keeps_all_entries_before_it(journal, tmp_path):
    content = journal.path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    cut = tmp_path / "cut"
    for length in range(len(content) + 1):
        cut.write_bytes(content[:length])
        whole = list(VALUES)[: max(0, sum(end <= length for end in ends) - 1)]
        assert keys(cut) == whole
        if length % 7 == 0:
            with Journal(cut, "asked") as again:
                again.add("more", 1)
            assert keys(cut) == [*whole, "more"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_flipped_bit_of_an_entry_is_noticed(journal, tmp_path, data):
    content = bytearray(journal.path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    found = list(Journal(damaged, "asked").entries())
    # A space may become another white space of JSON: it means the same.
    assert found == list(VALUES.items())[: len(found)]


@pytest.mark.parametrize(
    "line", [b"[]", b'{"value": {}}', b'{"key": ["a"], "value": {}, "sha256": ""}', b"\xff", b"[" * 100_000]
)
def test_from_a_damaged_line_on_all_is_forgotten(journal, line):
    head, first, _, last = journal.path.read_bytes().splitlines()
    journal.path.write_bytes(b"\n".join([head, first, line, last, b""]))
    assert keys(journal.path) == ["a"]
    with Journal(journal.path, "asked") as again:
        again.add("d", {})
    lines = journal.path.read_bytes().splitlines()
    assert [json.loads(text).get("key") for text in lines] == [None, "a", "d"]


def test_it_resumes_before_the_first_entry_that_is_not_good(journal):
    with journal:
        assert journal.resume(lambda key, _: key != "b") == 1
        journal.add("c", 1)
    assert keys(journal.path) == ["a", "c"]
    with journal:
        assert journal.resume() == 2


def test_a_journal_of_an_earlier_version_tells_nothing(tmp_path):
    (tmp_path / "old").write_text('{"image_id": "a", "sha256": "0"}\n')
    assert keys(tmp_path / "old", "") == []


def test_an_entry_is_in_the_file_once_it_was_told_whatever_happens_then(tmp_path):
    journal = Journal(tmp_path / "journal")
    child = os.fork()
    if child == 0:
        journal.add("done", 1)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert dict(journal.entries()) == {"done": 1}


def test_every_line_waits_for_the_device(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    with Journal(tmp_path / "journal") as journal:
        journal.add("one", 1)
        journal.add("two", 2)
    ends = [len(line) for line in journal.path.read_bytes().splitlines(keepends=True)]
    assert flushed == [ends[0], sum(ends[:2]), sum(ends)]


def test_a_device_that_takes_little_at_a_time_gets_the_whole_line(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:2]))
    with Journal(tmp_path / "journal") as journal:
        journal.add("a", "a long line")
    assert dict(journal.entries()) == {"a": "a long line"}


def test_a_full_device_is_told(tmp_path, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fail)
    with (
        Journal(tmp_path / "journal") as journal,
        pytest.raises(StorageError, match="journal: not written: No space left on device"),
    ):
        journal.add("a", 1)


def test_a_folder_in_its_place_tells_nothing_and_is_told(tmp_path):
    (tmp_path / "journal").mkdir()
    journal = Journal(tmp_path / "journal")
    assert list(journal.entries()) == []
    with pytest.raises(StorageError, match="not written"):
        journal.add("a", 1)


def test_a_value_that_json_has_not_is_not_written(journal):
    with journal, pytest.raises(ValueError, match="not JSON compliant"):
        journal.add("c", float("nan"))
    assert dict(journal.entries()) == VALUES


def test_two_writers_are_refused_and_what_another_added_stays(tmp_path):
    path, lock = tmp_path / "journal", (".lock", "busy (process {holder})")
    first, second = Journal(path, lock=lock), Journal(path, lock=lock)
    with first:
        first.add("a", 1)
        with pytest.raises(LockedError, match=rf"busy \(process {os.getpid()}\)"):
            second.add("b", 2)
    with second:
        second.add("b", 2)
    assert keys(path, "") == ["a", "b"]


def test_removing_twice_is_once(journal):
    journal.remove()
    journal.remove()
    assert not journal.path.exists()


def test_who_comes_second_is_told_who_was_first(tmp_path):
    told = rf"another run uses this folder \(process {os.getpid()}\)\. Wait for it"
    with run_lock(tmp_path), pytest.raises(LockedError, match=told):
        run_lock(tmp_path).__enter__()
    with run_lock(tmp_path):
        pass


def test_without_a_holder_in_the_message_the_file_stays_empty(tmp_path):
    with folder_lock(tmp_path, "l", "busy"):
        with pytest.raises(LockedError, match=f"^{tmp_path}: busy$"), folder_lock(tmp_path, "l", "busy"):
            pass
        assert (tmp_path / "l").read_bytes() == b""
    assert (tmp_path / "l").read_bytes() == b""


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    child = os.fork()
    if child == 0:
        run_lock(tmp_path).__enter__()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (tmp_path / "lock").read_text() == f"{child}\n"
    with run_lock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_an_error_inside_lets_go_and_stays_what_it_is(tmp_path):
    with pytest.raises(KeyError), run_lock(tmp_path):
        raise KeyError
    with run_lock(tmp_path):
        pass


def test_a_folder_that_cannot_be_locked_is_told(tmp_path, monkeypatch):
    with pytest.raises(StorageError, match="cannot write here"), run_lock(tmp_path / "absent"):
        pass
    monkeypatch.setattr(module, "fcntl", None)
    with pytest.raises(StorageError, match="this system has no flock"), run_lock(tmp_path):
        pass
