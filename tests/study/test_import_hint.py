"""What init tells a new user to do next can be done as it is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.images import write_dicom
from overread.study.intake._columns import suggest_import
from overread.tables import read_table

COLUMNS = "Dateiname;Arzt;X;Y;Breite;Höhe"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Make a study of two images, without marks, and a table beside it that has none either."""
    folder = tmp_path / "my study"
    folder.mkdir()
    for number in (1, 2):
        pixels = np.random.default_rng(number).integers(0, 4000, (300, 320)).astype(np.uint16)
        write_dicom(folder / f"CXR_{number}.dcm", pixels, 0.9, patient_id=f"P{number}", image_id=str(number))
    (tmp_path / "a_price_list.csv").write_text("thing;price\nscrew;1\n")
    return folder


def command_of(said: str) -> list[str]:
    """Words of the command that a hint prints."""
    found = re.search(r"overread (import .+? --output \S+( study\')?)", said)
    assert found is not None
    return shlex.split(found.group(1))


@pytest.mark.parametrize(
    ("header", "row", "told"),
    [
        (COLUMNS, "CXR_1.dcm;AB;300;200,5;20;18", ["--xy", "corner"]),
        ("file,reader,x_min,y_min,x_max,y_max", "CXR_2.dcm,AB,100.5,250.5,300.5,290.5", []),
        ("image;reader;x;y;diameter;angle", "CXR_1;AB;100,5;290;20;0", []),
    ],
)
@pytest.mark.parametrize("beside", [True, False])
def test_the_command_works_as_printed(study, capsys, header, row, told, beside):
    sheet = (study.parent if beside else study) / "the marks.csv"
    sheet.write_text(f"{header}\n{row}\n")
    assert main(["init", str(study)]) == 0
    words = command_of(capsys.readouterr().out)
    assert words[:2] == ["import", str(sheet)]
    assert words[2 : 2 + len(told)] == told
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"Next: overread run '{study}'" in said
    assert len(read_table(study / "marks.csv", "marks")) == 1
    assert len(read_table(study / "readings.csv", "readings")) == 2


def test_columns_that_may_be_meant_otherwise_are_spelled_out(study):
    (study / "marks of all.csv").write_text("file,reader,doctor,x,y,diameter\nCXR_1,AB,CD,310.5,250.5,20\n")
    assert main(["init", str(study)]) == 0
    words = command_of(suggest_import(study, read_table(study / "images.csv", "images")))
    assert words[2:4] == ["--columns", "image=file,reader=reader,x=x,y=y,diameter=diameter"]
    assert main(words) == 0


def test_without_a_spreadsheet_the_form_is_told(study):
    images = pd.DataFrame({"image_id": ["CXR_1", "CXR_2"]})
    (study / "marks.csv").write_text(
        f"{COLUMNS}\nCXR_1.dcm;AB;100;200,5;20;18\n"
    )  # its own table is no spreadsheet
    said = suggest_import(study, images)
    assert "overread import FILE --xy corner --all-read-all --output" in said
    assert "tool's export: overread import FILE --output" in said
