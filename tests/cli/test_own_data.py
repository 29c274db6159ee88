"""The walk of a new user, small: DICOM of many kinds, broken files, a German spreadsheet; no command stumbles."""

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.own_data import commands, make_files, walk

from overread.marks import read_folder, read_left_out
from overread.tables import read_table

MM = 0.7


@pytest.fixture
def files(tmp_path):
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 65535, (220, 240)).astype(np.uint16) for _ in range(16)]
    rows = [
        (number, reader, 100.5, 90.0, 20.5, 18.0) for number in (1, 5, 9) for reader in ("AB", "CD", "EF")
    ]
    marks = pd.DataFrame(rows, columns=["image", "reader", "x", "y", "width", "height"])
    return tmp_path / "study", *make_files(tmp_path / "study", pictures, MM, marks)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_from_files_to_a_sound_study_in_three_commands(files, capsys, kind):
    folder, csv, xlsx = files
    steps = commands(folder, csv if kind == "csv" else xlsx, folder / "CXR_001.dcm", run=False)
    # Nothing proves px here: the pictures are so small that the marks would lie inside in mm too.
    steps[1] += ["--unit", "px"]
    assert [code for _, code, _ in walk(folder, steps)] == [0, 0, 0]
    told = capsys.readouterr()
    assert "DICOMDIR, the index of a medium" in told.out
    assert "decimal commas" in told.out if kind == "csv" else "Notizen" not in told.out
    assert "skipped 1 marks on 1 images outside the study: 'CXR_019.dcm' (" in told.err
    found = read_folder(folder)
    assert len(found.images) == 16
    assert len(found.readings) == 48
    assert len(found.marks) == 9
    shape = found.marks[["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm"]].to_numpy()[0]
    assert shape == pytest.approx([(100.5 + 10.25) * MM, 99 * MM, 10.25 * MM, 9 * MM])
    assert set(found.marks["image_id"]) == {"CXR_001", "CXR_005", "CXR_009"}
    assert set(read_left_out(folder)) == {f"CXR_{n:03d}.dcm" for n in range(17, 22)} | {"DICOMDIR"}


def test_what_is_strange_is_named_with_its_cure_before_anything_is_dropped(answer, run, files, capsys):
    folder, csv, _ = files
    assert run(["init", folder, "--json"]) == 0
    found = {(one["kind"], one["image_id"]) for one in json.loads(capsys.readouterr().out)["findings"]}
    assert {("lateral", "CXR_017"), ("duplicate", "CXR_018")} <= found
    told = ["--xy", "corner", "--unit", "px", "--readers", "AB,CD,EF,GH"]
    assert run(["import", csv, "--output", folder, *told]) == 0
    assert len(read_table(folder / "readings.csv", "readings")) == 18 * 4
    capsys.readouterr()
    said = answer(["check", folder])["problems"]
    assert [one["row"] for one in said if "the same pixels" in one["message"]] == [19]
    assert any("--drop CXR_018" in one["remedy"] for one in said)
    assert run(["init", folder, "--drop", "CXR_018,lateral", "--same-patient", "CXR_001=CXR_002"]) == 0
    images = read_table(folder / "images.csv", "images")
    assert len(images) == 16
    assert images["patient_id"].iloc[0] == images["patient_id"].iloc[1]
    assert len(read_table(folder / "readings.csv", "readings")) == 16 * 4
    assert len(read_table(folder / "left_out_readings.csv", "readings")) == 2 * 4


def test_all_that_is_open_is_asked_for_at_once(run, files, capsys):
    folder, csv, _ = files
    assert run(["import", csv, "--output", folder.parent / "other"]) == 2
    said = capsys.readouterr().err
    for option in ("--xy corner|centre", "--unit px|mm", "--all-read-all"):
        assert option in said
    assert not (folder.parent / "other").exists()


def test_a_dry_run_shows_and_writes_nothing(run, files, capsys):
    _, csv, _ = files
    out = csv.parent / "other"
    told = ["--xy", "centre", "--mm-per-px", "0.7", "--all-read-all", "--dry-run"]
    assert run(["import", csv, "--output", out, *told]) == 0
    said = capsys.readouterr()
    assert "Breite" in said.out
    assert "images without marks may be missing" in said.err
    assert not out.exists()


def test_a_terminal_is_asked(run, files, monkeypatch):
    _, csv, _ = files
    out = csv.parent / "other"
    answers = iter(["px", "middle", "corner", "n", "px", "corner", "y"])
    monkeypatch.setattr("builtins.input", lambda _: next(answers))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    told = ["--images", str(csv.parent / "sizes.csv"), "--all-read-all"]
    names = [f"CXR_{n:03d}" for n in range(1, 22)]
    pd.DataFrame({"image_id": names, "mm_per_px_x": MM, "mm_per_px_y": MM}).to_csv(
        csv.parent / "sizes.csv", index=False
    )
    assert run(["import", csv, "--output", out, *told]) == 2
    assert not out.exists()
    assert run(["import", csv, "--output", out, *told]) == 0
    assert len(read_table(out / "marks.csv", "marks")) == 10


def test_readers_get_other_names(run, files, capsys):
    _, csv, _ = files
    out = csv.parent / "other"
    told = ["--xy", "corner", "--mm-per-px", "0.7", "--all-read-all", "--output", str(out)]
    assert run(["import", csv, *told, "--reader-names", "AB=Ann,XX=Bob"]) == 2
    assert "there is no reader 'XX'. The readers are AB, CD, EF" in capsys.readouterr().err
    assert run(["import", csv, *told, "--reader-names", "AB=CD"]) == 2
    assert run(["import", csv, *told, "--reader-names", "AB=Ann"]) == 0
    assert set(read_table(out / "marks.csv", "marks")["reader_id"]) == {"Ann", "CD", "EF"}
