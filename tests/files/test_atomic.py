"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from overread.errors import StorageError
from overread.files.atomic import write_atomically, write_parts_atomically


def test_a_file_gets_its_bytes_and_usual_permissions(tmp_path):
    path = write_atomically(tmp_path / "a.bin", b"\0new")
    assert path.read_bytes() == b"\0new"
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch, step):
    path = write_atomically(tmp_path / "a.bin", b"old")

    def fail(*_args, **_options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(StorageError, match="No space left"):
            write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StorageError, match="cannot write here"):
        write_atomically(tmp_path / "absent" / "a.bin", b"")


def test_an_existing_file_is_kept_on_request(tmp_path):
    path = write_atomically(tmp_path / "a.bin", b"old", exclusive=True)
    with pytest.raises(FileExistsError):
        write_atomically(path, b"new", exclusive=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_content_in_blocks_is_made_while_it_is_written(tmp_path):
    seen = []

    def blocks():
        for block in (b"one", b"", b"two"):
            seen.append((tmp_path / "a.bin").exists())
            yield block

    assert write_parts_atomically(tmp_path / "a.bin", blocks()).read_bytes() == b"onetwo"
    assert seen == [False] * 3


def test_blocks_that_end_in_an_error_leave_the_old_file_and_no_rest(tmp_path):
    path = write_atomically(tmp_path / "a.bin", b"old")

    def blocks():
        yield b"new"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_parts_atomically(path, blocks())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
