"""Digests are those of the standard, and are remembered only where that is safe."""

import hashlib
import os
import time
from unittest.mock import patch

import pytest

from overread.errors import StorageError
from overread.files import FileDigests, digest_of_bytes, digest_of_file, digest_of_value

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_of_nothing_it_is_the_published_one(tmp_path):
    (tmp_path / "f").touch()
    assert digest_of_bytes(b"") == EMPTY == digest_of_file(tmp_path / "f")


def test_a_value_s_digest_does_not_depend_on_the_order_of_keys():
    assert digest_of_value({"a": 1, "b": [2.5]}) == digest_of_value({"b": [2.5], "a": 1})
    assert digest_of_value({"a": 1}) != digest_of_value({"a": 1.0})


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        digest_of_file(tmp_path / "absent")


@pytest.fixture
def old_file(tmp_path, monkeypatch):
    """A file that is long finished by the clock of the digests."""
    path = tmp_path / "image"
    path.write_bytes(b"one")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60_000_000_000)
    return path


def test_an_unchanged_file_is_not_read_again(tmp_path, old_file, monkeypatch):
    memory = tmp_path / "memory.json"
    digests = FileDigests(memory)
    assert digests.of("id", old_file) == hashlib.sha256(b"one").hexdigest()
    digests.save()
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert FileDigests(memory).of("id", old_file) == hashlib.sha256(b"one").hexdigest()
    assert str(tmp_path) not in memory.read_text()


def test_a_changed_file_of_the_same_size_and_time_is_read_again(tmp_path, old_file):
    digests = FileDigests(tmp_path / "memory.json")
    digests.of("id", old_file)
    state = old_file.stat()
    old_file.write_bytes(b"two")
    os.utime(old_file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert digests.of("id", old_file) == hashlib.sha256(b"two").hexdigest()


def test_a_young_file_is_not_remembered(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(b"one")
    memory = tmp_path / "memory.json"
    digests = FileDigests(memory)
    digests.of("id", path)
    digests.save()
    assert memory.read_text().startswith('{"files": {}, ')


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"id": [1, 2]}', b"\xff"])
def test_a_damaged_memory_is_forgotten(tmp_path, content):
    memory, path = tmp_path / "memory.json", tmp_path / "image"
    memory.write_bytes(content)
    path.write_bytes(b"one")
    assert FileDigests(memory).of("id", path) == hashlib.sha256(b"one").hexdigest()


def test_a_digest_that_was_changed_is_not_believed(tmp_path):
    image, memory = tmp_path / "image", tmp_path / "memory"
    image.write_bytes(b"pixels")
    os.utime(image, ns=(0, 0))
    with patch("overread.files._digests.YOUNG_NS", -1):
        digests = FileDigests(memory)
        right = digests.of("a", image)
    digests.save()
    assert right in memory.read_text()
    memory.write_text(memory.read_text().replace(right, "0" * 64))
    assert FileDigests(memory).of("a", image) == right
