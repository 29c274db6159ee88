"""Which radiographs may be trained on."""

import pandas as pd
import pytest
from benchmarks.normals import list_normals


def write(folder, name, rows):
    table = pd.DataFrame(rows, columns=["file", "patient", "finding_labels"])
    table.assign(mm_per_px_x=0.7, mm_per_px_y=0.8).to_csv(folder / name, index=False)


def test_files_are_sorted_and_at_most_so_many_of_a_patient(tmp_path):
    rows = [(f"{name}.png", name[0], "No Finding") for name in ("2a", "1b", "1a", "2b")]
    write(tmp_path, "normals.csv", rows)
    assert [file.path.name for file in list_normals(tmp_path)] == ["1a.png", "1b.png", "2a.png", "2b.png"]
    once = list_normals(tmp_path, per_patient=1)
    assert [(file.path.stem, file.patient_id) for file in once] == [("1a", "1"), ("2a", "2")]
    assert once[0].mm_per_px == (0.7, 0.8)


@pytest.mark.parametrize("kept_apart", ["images.csv", "findings.csv", "other_findings.csv"])
def test_patients_of_a_check_are_refused(tmp_path, kept_apart):
    write(tmp_path, "normals.csv", [("1a.png", "1", "No Finding"), ("2a.png", "2", "No Finding")])
    write(tmp_path, kept_apart, [("2b.png", "2", "No Finding")])
    with pytest.raises(ValueError, match=r"2a\.png"):
        list_normals(tmp_path)


def test_findings_are_refused(tmp_path):
    write(tmp_path, "normals.csv", [("1a.png", "1", "Mass")])
    with pytest.raises(ValueError, match=r"1a\.png"):
        list_normals(tmp_path)
