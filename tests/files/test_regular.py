"""What is no regular file is refused before it is opened; nothing waits."""

import gzip
import os
import socket
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
)
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
