"""`init` given again takes what it left out before, takes a table of spacings, and says what stays out and why."""

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.images import write_dicom

SPACING = {"a.png": (0.4, 0.5), "b.png": (0.6, 0.7)}


@pytest.fixture
def folder(tmp_path):
    """Write one file that states the size of a pixel, two that do not, and one that is broken."""
    random = np.random.default_rng(0)
    for name in SPACING:
        cv2.imwrite(str(tmp_path / name), random.integers(0, 255, (60, 80), dtype=np.uint8))
    write_dicom(
        tmp_path / "own.dcm",
        random.integers(0, 4000, (60, 80)).astype(np.uint16),
        0.3,
        image_id="7",
        patient_id="P",
    )
    (tmp_path / "broken.png").write_bytes(b"nothing")
    return tmp_path


def init(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["init", str(folder), "--region", "chest", *options]) == 0
    return " ".join(capsys.readouterr().out.split())


def read_spacings(folder: Path) -> dict[str, tuple[float, float]]:
    table = pd.read_csv(folder / "images.csv", dtype={"image_id": str})
    return {row["path"]: (row["mm_per_px_x"], row["mm_per_px_y"]) for row in table.to_dict(orient="records")}


def test_the_advice_of_the_first_time_works_the_second(folder, capsys):
    said = init(folder, capsys)
    assert "1 images" in said
    assert "skipped: a.png" in said
    assert "give --mm-per-px" in said
    by_hand = pd.read_csv(folder / "images.csv", dtype=str).assign(patient_id="Ann", site="north")
    by_hand.to_csv(folder / "images.csv", index=False)
    said = init(folder, capsys, "--mm-per-px", "0.8")
    assert "3 images" in said
    assert "skipped: broken.png" in said
    assert "skipped: a.png" not in said
    assert read_spacings(folder) == {"own.dcm": (0.3, 0.3), "a.png": (0.8, 0.8), "b.png": (0.8, 0.8)}
    table = pd.read_csv(folder / "images.csv", dtype=str, keep_default_na=False).set_index("path")
    assert (table.loc["own.dcm", "patient_id"], table.loc["own.dcm", "site"]) == ("Ann", "north")
    assert table.loc["a.png", "site"] == ""
    assert pd.read_csv(folder / "found_files.csv", dtype=str)["reason"].notna().sum() == 1


def test_files_that_came_later_are_taken(folder, capsys):
    init(folder, capsys)
    pixels = np.random.default_rng(1).integers(0, 4000, (60, 80)).astype(np.uint16)
    write_dicom(folder / "later.dcm", pixels, 0.2, image_id="8", patient_id="Q")
    assert "2 images" in init(folder, capsys)
    assert read_spacings(folder) == {"own.dcm": (0.3, 0.3), "later.dcm": (0.2, 0.2)}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("column", ["file", "path", "image_id"])
def test_a_table_of_spacings(folder, tmp_path, capsys, column, again):
    table = pd.DataFrame(
        [(name, *pair) for name, pair in SPACING.items()], columns=[column, "mm_per_px_x", "mm_per_px_y"]
    )
    table.to_csv(tmp_path / "spacings.csv", index=False)
    if again:
        init(folder, capsys)
    assert "3 images" in init(folder, capsys, "--images", str(tmp_path / "spacings.csv"))
    assert read_spacings(folder) == {"own.dcm": (0.3, 0.3), **SPACING}


def test_what_stays_out_is_said_each_time(folder, capsys):
    init(folder, capsys, "--mm-per-px", "0.8", "--drop", "a")
    for options in ((), ("--mm-per-px", "0.8")):
        said = init(folder, capsys, *options)
        assert "2 images" in said
        assert "skipped: a.png: taken out by hand" in said
        assert "skipped: broken.png" in said


def test_a_row_that_was_taken_out_by_hand_stays_out(folder, capsys):
    init(folder, capsys, "--mm-per-px", "0.8")
    table = pd.read_csv(folder / "images.csv", dtype=str)
    table[table["path"] != "a.png"].to_csv(folder / "images.csv", index=False)
    for _ in range(2):
        said = init(folder, capsys, "--mm-per-px", "0.8")
        assert "2 images" in said
        assert "a.png" in said


def test_nobody_is_said_to_have_dropped_what_the_table_does_not_list(folder, capsys):
    table = "image_id,path,mm_per_px_x,mm_per_px_y\na,a.png,0.8,0.8\nb,b.png,0.8,0.8\n"
    (folder / "images.csv").write_text(table)
    for _ in range(3):
        said = init(folder, capsys)
        assert "2 images" in said
        assert "skipped: 1 image files that images.csv does not list: own.dcm" in said
        assert "own.dcm: the images table" not in said
        found = pd.read_csv(folder / "found_files.csv", dtype=str).set_index("path")
        assert found["step"].dropna().to_dict() == {"broken.png": "init", "own.dcm": "table"}


def test_what_0_2_wrote_of_a_file_that_the_table_does_not_list_is_not_a_drop(folder, capsys):
    init(folder, capsys, "--mm-per-px", "0.8")
    table = pd.read_csv(folder / "images.csv", dtype=str)
    table[table["path"] != "a.png"].to_csv(folder / "images.csv", index=False)
    init(folder, capsys)
    found = (folder / "found_files.csv").read_text()
    assert "a.png,table," in found
    (folder / "found_files.csv").write_text(found.replace("a.png,table,", "a.png,init,"))
    assert "2 images" in init(folder, capsys)
    assert (folder / "found_files.csv").read_text() == found


def test_a_table_that_cannot_be_used(folder, capsys):
    cases = {
        "x,mm_per_px_x,mm_per_px_y\na.png,1,1\n": "row 1: no column identifies the images",
        "file,mm_per_px_x,mm_per_px_y\na.png,1,1\na.png,2,2\n": "row 3, column file: 'a.png' occurs twice",
        "file,mm_per_px_x,mm_per_px_y\na.png,1,wide\n": "row 2, column mm_per_px_y",
        "file,mm_per_px_x,mm_per_px_y\nz.png,1,1\n": "lists none of the 3 image files",
        "file,mm_per_px_x,mm_per_px_y\nown.dcm,1,1\n": "1 for own.dcm, which states 0.3",
    }
    table = folder / "spacings.csv"
    for content, expected in cases.items():
        table.write_text(content)
        assert main(["init", str(folder), "--region", "chest", "--images", str(table)]) == 4
        assert expected in " ".join(capsys.readouterr().err.split())
        assert not (folder / "images.csv").exists()
