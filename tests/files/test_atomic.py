"""Files are written whole or not at all."""

import contextlib
import os
import socket
import stat
from pathlib import Path

import pytest

from overread.errors import StorageError
from overread.files import unfinished_files, write_atomically, write_together
from overread.files._atomic import MARKER


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

    assert write_atomically(tmp_path / "a.bin", blocks()).read_bytes() == b"onetwo"
    assert seen == [False] * 3


def test_blocks_that_end_in_an_error_leave_the_old_file_and_no_rest(tmp_path):
    path = write_atomically(tmp_path / "a.bin", b"old")

    def blocks():
        yield b"new"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(path, blocks())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_bytes(b"old")
    link.symlink_to("real.txt")
    assert write_atomically(link, b"new") == link
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_a_link_that_leads_nowhere_yet_is_followed(tmp_path):
    (tmp_path / "link").symlink_to("later")
    write_atomically(tmp_path / "link", b"new", exclusive=True)
    assert (tmp_path / "later").read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop"])
def test_what_is_no_regular_file_is_not_replaced(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    path = Path("output")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    before = path.lstat()
    with pytest.raises(StorageError, match=r"^output: "):
        write_atomically(path, b"new")
    assert path.lstat() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["output"]


def test_a_device_is_not_replaced():
    with pytest.raises(StorageError, match="is a device"):
        write_atomically("/dev/null", b"new")


def test_a_link_out_of_the_folder_is_refused_on_request(tmp_path):
    inside, outside = tmp_path / "study", tmp_path / "outside.txt"
    inside.mkdir()
    outside.write_bytes(b"old")
    (inside / "table.csv").symlink_to(outside)
    with pytest.raises(StorageError, match="leads out of"):
        write_atomically(inside / "table.csv", b"new", within=inside)
    assert outside.read_bytes() == b"old"


def test_permissions_hold_from_the_first_moment(tmp_path, monkeypatch):
    seen = []
    replace = os.replace
    monkeypatch.setattr(
        os, "replace", lambda *paths: (seen.append(Path(paths[0]).stat().st_mode), replace(*paths))
    )
    path = write_atomically(tmp_path / "secret", b"x", mode=0o600)
    assert [stat.S_IMODE(mode) for mode in (*seen, path.stat().st_mode)] == [0o600, 0o600]


def test_files_appear_together(tmp_path):
    (tmp_path / "inner").mkdir()
    files = {"a.csv": (b"1", b"2"), "inner/b.csv": (b"3",)}
    assert write_together(tmp_path, files) == [tmp_path / "a.csv", tmp_path / "inner/b.csv"]
    assert (tmp_path / "a.csv").read_bytes() == b"12"
    assert unfinished_files(tmp_path) == []
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.csv", "b.csv", "inner"]


class KilledError(BaseException):
    pass


@pytest.mark.parametrize("survived", range(6))
def test_killed_between_any_two_renames_all_are_old_or_the_marker_stands(tmp_path, monkeypatch, survived):
    names = ("a", "b", "c")
    for name in names:
        (tmp_path / name).write_bytes(b"old")
    renames = []
    replace = os.replace

    def killed(*paths):
        if len(renames) == survived:
            raise KilledError
        renames.append(paths)
        replace(*paths)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with contextlib.suppress(KilledError):
            write_together(tmp_path, dict.fromkeys(names, (b"new",)))
    state = {(tmp_path / name).read_bytes() for name in names}
    assert state in ({b"old"}, {b"new"}) or unfinished_files(tmp_path) == list(names)
    write_together(tmp_path, dict.fromkeys(names, (b"new",)))
    assert not (tmp_path / MARKER).exists()


def test_a_failure_before_the_first_rename_changes_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"old")

    def fail():
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="b: not written: No space left"):
        write_together(tmp_path, {"a": (b"new",), "b": fail()})
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]
