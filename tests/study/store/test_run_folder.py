"""The files of a run are whole or absent, and records say what they were made from."""

import json
import os

import pytest

from overread.errors import FormatError, StorageError
from overread.files import digest_of_bytes
from overread.study import _store as run_folder
from overread.study._store import FinishedRunFolder, RunFolder, StageRecord, _read_record, json_bytes


def do(folder, *, needs=None, gives=("a.json",), made=None, name="s"):
    calls = []

    def make():
        calls.append(1)
        return {"a.json": b"1"} if made is None else made

    assert folder.stage(name, needs=needs or {"x": 1}, gives=gives, make=make) is bool(calls)
    return bool(calls)


def test_a_stage_is_done_once(folder):
    assert [do(folder), do(folder), do(folder, needs={"x": 2}), do(folder, needs={"x": 2})] == [
        True,
        False,
        True,
        False,
    ]


def test_another_version_of_the_package_does_it_again(folder, monkeypatch):
    do(folder)
    monkeypatch.setattr(run_folder, "__version__", "0.0.0")
    assert do(folder)


def test_other_files_do_it_again(folder):
    do(folder)
    assert do(folder, gives=("b.json",), made={"b.json": b"2"})


def test_a_stage_without_files_is_done_once_too(folder):
    assert do(folder, gives=(), made={})
    assert not do(folder, gives=(), made={})


def test_a_file_with_the_same_bytes_is_not_written_again(folder):
    folder.write("a.json", b"same")
    os.utime(folder.path("a.json"), ns=(1, 1))
    assert folder.write("a.json", b"same") == digest_of_bytes(b"same") == folder.digest("a.json")
    assert folder.path("a.json").stat().st_mtime_ns == 1
    folder.write("a.json", b"other")
    assert folder.path("a.json").read_bytes() == b"other"


def test_blocks_that_fail_leave_the_old_file(folder):
    folder.write("a.bin", b"old")

    def blocks():
        yield b"new"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        folder.write("a.bin", blocks())
    assert folder.path("a.bin").read_bytes() == b"old"
    assert not list(folder.root.rglob("*.part"))


def test_what_a_killed_run_left_is_taken_away(folder):
    parts = [
        folder.path(name)
        for name in (".overread-1.part", "tables/.overread-2.part", "tuning/.overread-3.part")
    ]
    others = [folder.path(name) for name in ("a.part", "tables/t.parquet")]
    for path in (*parts, *others):
        path.touch()
    rows = folder.path(".overread-4.part")
    rows.mkdir()
    (rows / "order.npy").touch()
    folder.clean()
    assert not rows.exists()
    assert not any(path.exists() for path in parts)
    assert all(path.exists() for path in others)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write here"):
        RunFolder(tmp_path / "file" / "run").prepare()


def test_json_has_no_nan_and_keeps_the_order():
    assert json_bytes({"b": "ü", "a": 1}) == '{\n "b": "ü",\n "a": 1\n}\n'.encode()
    assert json.loads(json_bytes([0.1 + 0.2])) == [0.1 + 0.2]
    with pytest.raises(ValueError, match="JSON"):
        json_bytes(float("inf"))


RECORDS = [
    b"",
    b"[]",
    b"{",
    b'{"key": 1}',
    b'{"key": "KEY", "filer": {"a.json": "x"}}',
    b'{"key": "KEY", "files": 5}',
    b'{"key": "KEY", "files": ["a.json"]}',
    b'{"key": "KEY", "files": {"a.json": 3}}',
    b'{"key": "KEY", "files": null}',
]


@pytest.mark.parametrize("content", RECORDS)
def test_a_record_that_is_damaged_within_does_it_again(folder, content):
    do(folder)
    path = folder.path("stages/s.json")
    path.write_bytes(content.replace(b"KEY", json.loads(path.read_bytes())["key"].encode()))
    assert do(folder)
    assert not do(folder)


def test_a_bit_flipped_anywhere_in_a_record_is_no_traceback(folder):
    do(folder)
    path = folder.path("stages/s.json")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        do(folder)
        assert _read_record(path) == read_record_of(whole)


def read_record_of(content: bytes) -> StageRecord:
    return StageRecord(**json.loads(content))


def test_a_finished_run_gives_what_it_wrote(folder):
    do(folder)
    assert FinishedRunFolder(folder.root).readable("a.json") == folder.path("a.json")


@pytest.mark.parametrize("damage", ["changed", "lost", "record"])
def test_a_finished_run_gives_nothing_else(folder, damage):
    do(folder)
    if damage == "changed":
        folder.path("a.json").write_bytes(b"3")
    else:
        folder.path("a.json" if damage == "lost" else "stages/s.json").unlink()
    with pytest.raises(FormatError, match=r"a\.json: .*\(make it again: overread run .* --name "):
        FinishedRunFolder(folder.root).readable("a.json")
