"""Tables are written from the journal, whole or not at all, and the user's settings stay."""

from __future__ import annotations

import pandas as pd
import pytest

from overread.files import Journal
from overread.simulate import CHEST_LAYOUT
from overread.simulate._tables import FolderLayout, write_tables
from overread.tables import read_cells

ELLIPSE = {"x_mm": 0.1 + 0.2, "y_mm": 1e-9, "semi_major_mm": 3.0, "semi_minor_mm": 2.0, "angle_deg": 0.0}


@pytest.fixture
def journal(tmp_path) -> Journal:
    (tmp_path / "known").mkdir()
    made = Journal(tmp_path / "journal.jsonl")
    with made:
        for number, name in enumerate(("=1+1", "b, c")):
            marks = [
                {"image_id": name, "reader_id": "R1", "mark_id": f"m{k}", "object_id": "", **ELLIPSE}
                for k in range(number)
            ]
            entry = {
                "image_id": name,
                "patient_id": "P1",
                "background": "x.png",
                "path": f"images/{number}.png",
                "mm_per_px": 0.7,
                "nodules": [],
                "distractors": [],
                "readings": [{"image_id": name, "reader_id": "R1"}],
                "marks": marks,
            }
            made.add(name, entry)
    return made


def test_every_table_has_its_columns_also_without_rows(tmp_path, journal):
    write_tables(tmp_path, journal, CHEST_LAYOUT)
    for table in CHEST_LAYOUT.tables:
        assert tuple(pd.read_csv(tmp_path / table.path).columns) == table.columns
    assert not list(tmp_path.rglob("*.part"))


def test_numbers_come_back_exactly_and_text_is_guarded(tmp_path, journal):
    write_tables(tmp_path, journal, CHEST_LAYOUT)
    marks = read_cells(tmp_path / "marks.csv")
    assert {name: float(marks.column(name)[0]) for name in ELLIPSE} == ELLIPSE
    images = pd.read_csv(tmp_path / "images.csv")
    assert images["image_id"].tolist() == ["'=1+1", "b, c"]
    assert images["mm_per_px_x"].tolist() == images["mm_per_px_y"].tolist() == [0.7, 0.7]


def test_settings_are_written_once(tmp_path, journal):
    write_tables(tmp_path, journal, CHEST_LAYOUT)
    settings = tmp_path / "study.toml"
    assert settings.read_text() == CHEST_LAYOUT.settings
    settings.write_text("seed = 3\n")
    write_tables(tmp_path, journal, CHEST_LAYOUT)
    assert settings.read_text() == "seed = 3\n"


def test_a_layout_says_what_is_written(tmp_path, journal):
    write_tables(tmp_path, journal, FolderLayout(CHEST_LAYOUT.tables[:1], "seed = 4\n"))
    assert {path.name for path in tmp_path.glob("*.*")} == {"images.csv", "journal.jsonl", "study.toml"}
    assert (tmp_path / "study.toml").read_text() == "seed = 4\n"
