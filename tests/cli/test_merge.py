"""`overread merge` and `overread readers` on a study folder, from the command line's side."""

import io
import struct

import numpy as np
import pandas as pd
import pytest

from overread.cli import main as run
from overread.images import write_dicom, write_png16
from overread.tables import read_table, write_table
from overread.truth import MergeOptions, merge_marks

COLUMNS = ["image_id", "reader_id", "mark_id", "x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def study(tmp_path):
    rows = [
        ("i", "A", "1", 50.0, 60.0, 8.0, 5.0, 30.0),
        ("i", "B", "2", 52.0, 60.0, 9.0, 5.0, 30.0),
        ("i", "A", "3", 90.0, 60.0, 8.0, 5.0, 30.0),
        ("00123", "B", "4", 20.0, 20.0, 4.0, 4.0, 0.0),
    ]
    readings = [(image, reader) for image in ("i", "00123") for reader in "ABC"]
    write_table(pd.DataFrame(rows, columns=COLUMNS), tmp_path / "marks.csv")
    write_table(pd.DataFrame(readings, columns=["image_id", "reader_id"]), tmp_path / "readings.parquet")
    return tmp_path


def tables(study):
    return read_table(study / "marks.csv", "marks"), read_table(study / "readings.parquet", "readings")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_merge_writes_the_truth_table(study, capsys, ending):
    target = study / f"truth.{ending}"
    assert run(["merge", str(study), "--output", str(target)]) == 0
    assert "golden" in capsys.readouterr().out
    pd.testing.assert_frame_equal(read_table(target, "truth"), merge_marks(*tables(study)), check_dtype=False)


def test_merge_does_not_write_over_the_marks(study, capsys):
    for name in ("marks.csv", "readings.parquet"):
        before = (study / name).read_bytes()
        assert run(["merge", str(study), "--output", str(study / name)]) == 2
        assert "is an input file" in capsys.readouterr().err
        assert (study / name).read_bytes() == before


def test_merge_takes_single_tables_and_options(answer, study):
    files = ["--marks", str(study / "marks.csv"), "--readings", str(study / "readings.parquet")]
    found = answer(["merge", *files, "--t0", "0.99", "--threshold", "fixed", "--n-max", "8"])
    expected = merge_marks(*tables(study), options=MergeOptions(t0=0.99, threshold="fixed"))
    assert found["summary"]["objects"] == len(expected) == 4
    assert {row["image_id"] for row in found["truth"]} == {"i", "00123"}
    assert found["truth"][0]["probability"] == 2 / 8 / 8


def test_figures_are_written(study):
    for command in ("merge", "readers"):
        assert run([command, str(study), "--figure", str(study / "figure.png")]) == 0
        assert (study / "figure.png").read_bytes().startswith(b"\x89PNG")
        (study / "figure.png").unlink()


def test_pixels_go_under_one_image(refused, study):
    np.save(study / "pixels.npy", np.zeros((100, 200)))
    figure = ["merge", str(study), "--figure", str(study / "f.png"), "--pixels", str(study / "pixels.npy")]
    assert run([*figure, "--image", "i", "--mm-per-px", "0.5"]) == 0
    assert "--mm-per-px" in refused([*figure, "--image", "i"], 2)


def npy(header: str, *, length: int | None = None) -> bytes:
    """Bytes of a NumPy file of version 1 with this header."""
    text = header.encode("latin-1") + b"\n"
    return (
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) if length is None else length) + text + b"\0" * 64
    )


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros((4, 4)))
    return buffer.getvalue()


BAD_ARRAYS = {
    "npz": npz(),
    "PK garbage": b"PK\x03\x04" + b"\xff" * 200,
    "PK end": b"PK\x05\x06" + b"\0" * 18,
    "pickle": b"\x80\x04\x95\x05\0\0\0\0\0\0\0\x8c\x01a\x94.",
    "huge shape": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999)}"),
    "just above the cap": npy("{'descr': '|u1', 'fortran_order': False, 'shape': (6000, 6000)}"),
    "cut short": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (50, 50)}"),
    "long header": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 4)}", length=65535),
    "header of 4 GB": b"\x93NUMPY\x02\x00" + b"\xff" * 4 + b"{" * 100,
    "header of another kind": npy("__import__('os').system('touch x')"),
    "header that is no text": npy("{'descr': '<f8', (((((('fortran_order': False"),
    "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2)}"),
    "negative shape": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -4)}"),
    "no dimension": npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}"),
    "later version": b"\x93NUMPY\x09\x00" + b"\0" * 100,
    "nothing": b"",
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_files_that_are_no_array_of_an_image(refused, study, kind):
    (study / "pixels.npy").write_bytes(BAD_ARRAYS[kind])
    figure = ["merge", str(study), "--figure", str(study / "f.png"), "--pixels", str(study / "pixels.npy")]
    assert "pixels.npy: " in refused([*figure, "--image", "i", "--mm-per-px", "0.5"], 4)
    assert not (study / "f.png").exists()


def test_image_files_go_under_one_image(refused, study, capsys):
    pixels = np.random.default_rng(0).integers(0, 4000, (100, 200)).astype(np.uint16)
    write_dicom(study / "a.dcm", pixels, 0.5, patient_id="p", image_id="i")
    write_png16(study / "a.png", pixels)
    figure = ["merge", str(study), "--figure", str(study / "f.png"), "--image", "i", "--pixels"]
    assert run([*figure, str(study / "a.dcm")]) == 0
    assert run([*figure, str(study / "a.png"), "--mm-per-px", "0.5"]) == 0
    capsys.readouterr()
    assert "does not state the pixel size" in refused([*figure, str(study / "a.png")], 4)
    assert "given as 0.7, but PixelSpacing is 0.5" in refused(
        [*figure, str(study / "a.dcm"), "--mm-per-px", "0.7"], 4
    )
    assert run([*figure, str(study / "marks.csv"), "--mm-per-px", "0.5"]) == 4
    assert run([*figure, str(study / "a.dcm"), "--image", "00123"]) == 2


def test_readers_as_json(answer, study):
    found = answer(["readers", str(study)])
    assert found["readings_per_image"] == [{"n_readings": 3, "n_images": 2}]
    assert [row["sensitivity"] for row in found["readers"]] == [1.0, 1.0, 0.0]
    assert found["readers"][0]["loo_sensitivity"] is None
    assert len(found["pairs"]) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["merge"], 2, "study folder"),
        (["merge", "{study}", "--marks", "m.csv"], 2, "not both"),
        (["merge", "{study}/nowhere"], 4, "no such folder"),
        (["merge", "{study}", "--method", "magic"], 4, "magic"),
        (["merge", "{study}", "--t0", "7"], 4, "t0 must be"),
        (["merge", "{study}", "--figure", "{study}/f.bmp"], 2, ".png"),
        (["merge", "{study}", "--figure", "{study}/f.png", "--image", "none"], 4, "'none'"),
        (["merge", "{study}", "--output", "{study}/none/truth.csv"], 5, "truth.csv"),
        (["merge", "{study}", "--n-min", "4"], 4, "3 readings"),
        (["readers", "{study}/nowhere"], 4, "no such folder"),
    ],
)
def test_mistakes_get_one_line_and_a_code(study, capsys, arguments, code, message):
    assert run([argument.format(study=study) for argument in arguments]) == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_no_readings_are_never_guessed(answer, refused, study):
    (study / "readings.parquet").unlink()
    assert "readings" in refused(["merge", str(study)], 4)
    assert answer(["merge", str(study), "--derive-readings"])["summary"]["readings"] == 3


def test_warnings_are_said(refused, study):
    marks, _ = tables(study)
    write_table(marks.assign(semi_minor_mm=[5.0, 5.0, 1e-9, 4.0]), study / "marks.csv")
    assert "overread: warning: marks, row 4, column semi_minor_mm" in refused(["merge", str(study)], 0)


def test_a_chair_s_decisions_are_taken_on_request(refused, study, tmp_path):
    assert run(["merge", str(study), "--output", str(tmp_path / "before.csv")]) == 0
    before = read_table(tmp_path / "before.csv", "truth")
    gone = before.iloc[0]
    decisions = tmp_path / "adjudication.csv"
    decisions.write_text(f"image_id,truth_id,decision\n{gone['image_id']},{gone['truth_id']},not\n")
    command = ["merge", str(study), "--adjudication", str(decisions), "--output", str(tmp_path / "after.csv")]
    assert run(command) == 0
    after = read_table(tmp_path / "after.csv", "truth")
    assert after["truth_id"].tolist() == before["truth_id"].tolist()[1:]
    decisions.write_text("image_id,truth_id,decision\na,T0,lesion\n")
    assert "'T0' is not among the merged objects" in refused(command, 4)


def write_copies(folder, jitter):
    """Four readers who mark the same lesion in each of 30 images, `jitter` apart."""
    rng = np.random.default_rng(0)
    rows = [
        (f"i{image}", reader, reader, *(50 + rng.normal(0, jitter, 2)), 8.0, 8.0, 0.0)
        for image in range(30)
        for reader in "ABCD"
    ]
    marks = pd.DataFrame(rows, columns=COLUMNS)
    write_table(marks, folder / "marks.csv")
    write_table(marks[["image_id", "reader_id"]], folder / "readings.csv")


def test_merge_shows_what_held_out_readers_say_of_thresholds(answer, tmp_path, capsys):
    write_copies(tmp_path, jitter=1.5)
    assert run(["merge", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "The held-out readers support t0 = " in told
    assert "0.63 (used)" in told
    found = answer(["merge", str(tmp_path), "--method", "linkage"])["thresholds"]
    assert found["option"] == "linkage_iou"
    assert [row["threshold"] for row in found["curve"]] == sorted(row["threshold"] for row in found["curve"])


@pytest.mark.parametrize(("jitter", "warned"), [(0.2, False), (1.5, True)])
def test_check_warns_of_a_threshold_that_splits_objects(answer, tmp_path, jitter, warned):
    """Discs of 8 mm whose centres are 2.5 mm apart have an IoU of 0.66: above 0.7, one lesion is several objects."""
    write_copies(tmp_path, jitter)
    (tmp_path / "study.toml").write_text('[merging]\nmethod = "linkage"\nlinkage_iou = 0.7\n')
    problems = answer(["check", str(tmp_path), "--skip-files"])["problems"]
    assert any("held-out readers agree less" in problem["message"] for problem in problems) == warned
