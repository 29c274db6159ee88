"""What is no regular file is refused before it is opened; nothing waits.

Files are written whole or not at all.
"""

import contextlib
import gzip
import os
import socket
import stat
import threading
import tracemalloc
from pathlib import Path

import pytest

from overread.cli import main
from overread.errors import ImageError, InvalidInputError, OverreadError, StorageError, TableError
from overread.files import (
    FileDigests,
    Journal,
    digest_of_file,
    open_regular,
    read_capped,
    read_json,
    read_regular,
    real_path,
    unfinished_files,
    write_atomically,
    write_together,
)
from overread.files._atomic import MARKER
from overread.files._regular import CHUNK
from overread.images import read_image
from overread.images._dicom_facts import is_dicom
from overread.study import Detector, read_settings
from overread.study._run import RunLog
from overread.tables import open_columns, read_table

# Each would hang for ever on a pipe that nobody writes to, if it opened it.
READERS = {
    "capped": lambda path: read_capped(path, 100, lambda size: ValueError(str(size))),
    "digest": digest_of_file,
    "digests": lambda path: FileDigests(Path("none.json")).of("id", path),
    "json": read_json,
    "image": lambda path: read_image(path, mm_per_px=1.0),
    "table": lambda path: read_table(path, "marks"),
    "columns": lambda path: open_columns(path, "features"),
    "settings": read_settings,
    "detector": Detector.read,
}


@pytest.fixture(params=["pipe", "socket", "device", "loop"])
def odd(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("odd.parquet")
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(path)
    return path


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_what_is_no_file(odd: Path, reader: str) -> None:
    with pytest.raises((OSError, StorageError, InvalidInputError)) as caught:
        READERS[reader](odd)
    assert isinstance(caught.value, OverreadError) or caught.value.strerror


@pytest.mark.parametrize(
    "command", [["detect", "nothing.json"], ["show"], ["import", "-o", "out"], ["merge"]]
)
def test_commands_say_so_in_one_line(
    odd: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(odd), *command[1:]]) in (2, 4, 5)
    assert capsys.readouterr().err.startswith("overread: ")


def test_a_table_that_is_a_pipe_is_not_taken_as_missing(tmp_path: Path) -> None:
    from overread.marks import read_folder

    (tmp_path / "marks.csv").write_text(
        "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg\n"
    )
    (tmp_path / "readings.csv").write_text("image_id,reader_id\nA,R\n")
    os.mkfifo(tmp_path / "images.csv")
    with pytest.raises(TableError, match=r"images\.csv: cannot be read: it is a pipe"):
        read_folder(tmp_path)


def test_files_that_only_grow_do_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="not written"):
        Journal(tmp_path / "pipe").resume()
    assert list(Journal(tmp_path / "pipe").entries()) == []
    with pytest.raises(StorageError, match="not written"), RunLog(tmp_path / "pipe"):
        pass


def test_a_regular_file_is_read_through_links(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").symlink_to("a")
    assert read_regular(tmp_path / "b") == b"1"
    assert real_path(tmp_path / "b") == (tmp_path / "a").resolve()
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    assert not is_dicom(tmp_path)


def test_a_file_that_becomes_a_pipe_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    honest = Path.stat

    def stat_and_swap(self: Path, **options: bool) -> os.stat_result:
        state = honest(self, **options)
        path.unlink()
        os.mkfifo(path)
        return state

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", stat_and_swap)
        with pytest.raises(OSError, match="pipe"):
            open_regular(path)


def test_an_image_that_is_too_large_is_not_hashed(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="larger than 192 MiB"):
        FileDigests(tmp_path / "none.json").of("id", tmp_path / "big", 192 << 20)
    with pytest.raises(ImageError):
        read_image(tmp_path / "big")


def refuse(size: int) -> Exception:
    return ValueError(f"{size} is too much")


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 3])
def test_a_file_up_to_the_limit_is_read_whole(tmp_path, size):
    content = os.urandom(size)
    path = tmp_path / "f"
    path.write_bytes(content)
    assert read_capped(path, size, refuse) == content
    assert read_capped(path, size + 10 * CHUNK, refuse) == content


def test_a_byte_too_many_is_refused_with_the_size_before_anything_is_read(tmp_path):
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the device
    with pytest.raises(ValueError, match="1099511627776 is too much"):
        read_capped(path, (1 << 40) - 1, refuse)


def test_what_unpacks_to_more_is_refused_one_byte_past_the_limit(tmp_path):
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(bytes(3 * CHUNK)))
    with gzip.open(path) as file:
        assert len(read_capped(file, 3 * CHUNK, refuse)) == 3 * CHUNK
    with gzip.open(path) as file, pytest.raises(ValueError, match="1001 is too much"):
        read_capped(file, 1000, refuse)


def test_a_pipe_states_no_size_and_is_capped_all_the_same(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"x" * 100))
    writer.start()
    with pipe.open("rb") as file, pytest.raises(ValueError, match="51 is too much"):
        read_capped(file, 50, refuse)
    writer.join()


def test_a_high_limit_takes_no_memory(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"short")
    tracemalloc.start()
    read_capped(path, 1 << 40, refuse)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * CHUNK


def test_a_missing_file_is_the_caller_s_business(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_capped(tmp_path / "absent", 1, refuse)
    with pytest.raises(IsADirectoryError):
        read_capped(tmp_path, 1, refuse)


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
