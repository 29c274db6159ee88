"""Images are left out with their rows, which are kept; patients are joined."""

from __future__ import annotations

import pandas as pd
import pytest

from overread.errors import UsageError
from overread.study import Finding
from overread.study.intake._issues import choose_dropped, drop_rows, find_unread, merge_patients
from overread.tables import read_table, write_table

IMAGES = pd.DataFrame(
    {"image_id": ["a", "b", "c"], "patient_id": ["p", "q", ""], "path": ["x/a.dcm", "x/b.dcm", "x/c.dcm"]},
    dtype="str",
)
SHAPE = {"x_mm": 1.0, "y_mm": 1.0, "semi_major_mm": 1.0, "semi_minor_mm": 1.0, "angle_deg": 0.0}


def test_what_to_drop_is_named_by_kind_id_or_file():
    findings = [Finding("lateral", "b"), Finding("duplicate", "c", "a")]
    assert list(choose_dropped(["lateral"], IMAGES, findings, [])) == ["b"]
    assert list(choose_dropped(["c.dcm", "unread"], IMAGES, findings, ["a"])) == ["c", "a"]
    assert "same pixels" in choose_dropped(["c"], IMAGES, findings, [])["c"]
    with pytest.raises(UsageError, match="--drop sideways: no such image, and no kind; kinds are duplicate"):
        choose_dropped(["sideways"], IMAGES, findings, [])


def test_rows_of_dropped_images_are_kept_elsewhere(tmp_path):
    readings = pd.DataFrame({"image_id": ["a", "b"], "reader_id": ["R", "R"]}, dtype="str")
    write_table(readings, tmp_path / "readings.csv")
    write_table(readings.assign(mark_id=["1", "2"], **SHAPE), tmp_path / "marks.csv")
    assert find_unread(tmp_path, IMAGES) == ["c"]
    assert drop(tmp_path, ["b", "c"]) == 1
    assert read_table(tmp_path / "marks.csv", "marks")["image_id"].tolist() == ["a"]
    assert read_table(tmp_path / "left_out_marks.csv", "marks")["mark_id"].tolist() == ["2"]
    # A mark that comes again under its id and is dropped again: the later one is kept.
    again = read_table(tmp_path / "left_out_marks.csv", "marks").assign(x_mm=9.0)
    write_table(pd.concat([read_table(tmp_path / "marks.csv", "marks"), again]), tmp_path / "marks.csv")
    assert drop(tmp_path, ["a", "b"]) == 2
    assert read_table(tmp_path / "left_out_readings.csv", "readings")["image_id"].tolist() == ["b", "a"]
    kept = read_table(tmp_path / "left_out_marks.csv", "marks").set_index("mark_id")
    assert kept.loc["2", "x_mm"] == 9.0
    assert len(kept) == 2


def drop(folder, image_ids):
    new, n_marks = drop_rows(folder, image_ids)
    for name, content in new.items():
        (folder / name).write_bytes(content)
    return n_marks


def test_two_ids_of_one_patient_are_joined_not_dropped():
    with pytest.raises(UsageError, match="--same-patient"):
        choose_dropped(["patient"], IMAGES, [], [])


def test_patients_are_joined_by_image_or_id():
    assert merge_patients(IMAGES, [("a", "b")])["patient_id"].tolist() == ["p", "p", ""]
    assert merge_patients(IMAGES, [("q", "p")])["patient_id"].tolist() == ["q", "q", ""]
    assert merge_patients(IMAGES, [("c.dcm", "a")])["patient_id"].tolist() == ["p", "q", "p"]
    with pytest.raises(UsageError, match="no image and no patient 'z'"):
        merge_patients(IMAGES, [("a", "z")])
