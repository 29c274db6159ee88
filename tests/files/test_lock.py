"""One process at a time, and none after its death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from overread.errors import LockedError, StorageError
from overread.files import _journal as lock
from overread.files import folder_lock, run_lock


def test_who_comes_second_is_told_who_was_first(tmp_path):
    told = rf"another run works here \(process {os.getpid()}\); wait for it"
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


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="cannot write here"), run_lock(tmp_path / "absent"):
        pass


def test_a_system_without_locks_is_told_at_use(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with pytest.raises(StorageError, match="this system has no flock"), run_lock(tmp_path):
        pass


def test_the_package_is_imported_where_there_are_neither_locks_nor_limits():
    hide = "import sys; sys.modules['fcntl'] = sys.modules['resource'] = None; "
    modules = "overread.files._journal, overread.simulate._cohort, overread.study.executors._worker"
    subprocess.run([sys.executable, "-c", f"{hide}import {modules}"], check=True)
