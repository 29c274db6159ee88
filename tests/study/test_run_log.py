"""The log of a run: one line an event, appended, with the time."""

import os
import re
from pathlib import Path

import pytest

from overread.errors import StorageError
from overread.study._run import RunLog


def test_lines_are_appended_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for text in ("first", "second\nand\tmore   words"):
        with RunLog(path) as log:
            log.write(text)
    lines = path.read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["first", "second and more words"]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 ", line) for line in lines)


def test_any_text_can_be_written(tmp_path: Path) -> None:
    with RunLog(tmp_path / "run.log") as log:
        log.write("half a pair \ud800, ü")
    assert (tmp_path / "run.log").read_text(encoding="utf-8").endswith("half a pair \\ud800, ü\n")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not written"), RunLog(tmp_path / "absent" / "run.log"):
        pass


def test_a_full_disk_does_not_stop_a_run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with RunLog(tmp_path / "run.log") as log:
        monkeypatch.setattr(os, "write", full)
        log.write("lost")
        monkeypatch.undo()
        log.write("kept")
    assert "lost" not in (tmp_path / "run.log").read_text()
    assert "kept" in (tmp_path / "run.log").read_text()
