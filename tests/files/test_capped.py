"""Nothing larger than the cap is taken in, and nothing of what is smaller is lost."""

import gzip
import os
import threading
import tracemalloc

import pytest

from overread.files import read_capped
from overread.files._regular import CHUNK


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
