"""Lines that were told are there after a kill; half a line is none."""

from __future__ import annotations

import os
import signal

import pytest

from overread.errors import StorageError
from overread.files import Journal


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path / "journal")


def test_lines_come_back_in_their_order(journal):
    with journal.open():
        for line in (b"one", b"", b"\xff three"):
            journal.append(line)
    assert list(journal.lines()) == [b"one", b"", b"\xff three"]
    assert journal.path.read_bytes() == b"one\n\n\xff three\n"


def test_half_a_line_is_none(journal):
    journal.path.write_bytes(b"one\ntwo\nthr")
    assert list(journal.lines()) == [b"one", b"two"]


def test_a_journal_that_is_not_there_or_no_file_tells_nothing(journal):
    assert list(journal.lines()) == []
    journal.path.mkdir()
    assert list(journal.lines()) == []


def test_what_is_kept_stays_and_the_rest_goes(journal):
    journal.path.write_bytes(b"one\ntwo\nthr")
    with journal.open(kept=4):
        journal.append(b"2")
    assert journal.path.read_bytes() == b"one\n2\n"
    with journal.open():
        journal.append(b"new")
    assert journal.path.read_bytes() == b"new\n"


def test_a_line_is_in_the_file_once_it_was_told_whatever_happens_then(journal):
    child = os.fork()
    if child == 0:
        journal.open().append(b"done")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert list(journal.lines()) == [b"done"]


def test_every_line_waits_for_the_device(journal, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    with journal.open():
        journal.append(b"one")
        journal.append(b"two")
    assert flushed == [4, 8]


def test_a_device_that_takes_little_at_a_time_gets_the_whole_line(journal, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: write(handle, content[:2]))
    with journal.open():
        journal.append(b"a long line")
    assert list(journal.lines()) == [b"a long line"]


def test_a_full_device_is_told(journal, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", fail)
    with journal.open(), pytest.raises(StorageError, match="journal: not written: No space left on device"):
        journal.append(b"one")


def test_a_folder_in_its_place_is_told(journal):
    journal.path.mkdir()
    with pytest.raises(StorageError, match="not written"):
        journal.open()


def test_removing_twice_is_once(journal):
    with journal.open():
        pass
    journal.remove()
    journal.remove()
    assert not journal.path.exists()
