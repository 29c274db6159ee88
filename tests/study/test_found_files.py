"""What `init` found, held against the images table of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from overread.errors import TableError
from overread.marks import FOUND_FILE, list_found_files
from overread.report import FoundFiles
from overread.study._inputs import read_found_files
from overread.tables import write_table


def test_everything_found_is_listed_or_left_out(tmp_path: Path) -> None:
    write_table(
        list_found_files(
            ["a.png", "=b.png"], {"c.png": "broken, cut", "d.png": "broken, cut", "e.png": "none"}
        ),
        tmp_path / FOUND_FILE,
    )
    told = read_found_files(tmp_path, ["a.png", "=b.png"])
    assert told == FoundFiles(5, {"broken, cut": 2, "none": 1}, 0, 0)


def test_changes_by_hand_are_counted(tmp_path: Path) -> None:
    write_table(list_found_files(["a.png", "b.png"], {"c.png": "no spacing"}), tmp_path / FOUND_FILE)
    # b was taken out, c was put in with a spacing of the user's, x came from elsewhere.
    assert read_found_files(tmp_path, ["a.png", "c.png", "x.png"]) == FoundFiles(3, {}, 1, 1)


def test_a_study_made_by_hand_knows_nothing_of_it(tmp_path: Path) -> None:
    assert read_found_files(tmp_path, ["a.png"]) is None


def test_a_table_that_is_none_names_itself(tmp_path: Path) -> None:
    (tmp_path / FOUND_FILE).write_text("file,why\na,b\n")
    with pytest.raises(TableError, match=FOUND_FILE):
        read_found_files(tmp_path, [])
