"""Structured reports and presentation states that `export` writes come back into their own study by `import`."""

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.images import write_dicom

COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]


@pytest.fixture
def study(tmp_path, capsys):
    """Make a study by `init` out of files that are not named by UID, with marks of two readers."""
    folder = tmp_path / "study"
    folder.mkdir()
    random = np.random.default_rng(0)
    for number in range(2):
        pixels = random.integers(0, 4000, (200, 160)).astype(np.uint16)
        write_dicom(
            folder / f"dx{number}.dcm", pixels, 0.5, image_id=f"uid {number}", patient_id=f"P{number}"
        )
    assert main(["init", str(folder), "--region", "chest"]) == 0
    marks = [
        ("dx0", "A", "m1", 30.0, 40.0, 6.0, 4.0, 20.0),
        ("dx0", "B", "m2", 31.0, 41.0, 5.0, 5.0, 0.0),
        ("dx1", "A", "m3", 50.0, 60.0, 7.0, 3.0, 140.0),
    ]
    pd.DataFrame(marks, columns=["image_id", "reader_id", "mark_id", *COLUMNS]).to_csv(
        folder / "marks.csv", index=False
    )
    readings = [(image, reader) for image in ("dx0", "dx1") for reader in "AB"]
    pd.DataFrame(readings, columns=["image_id", "reader_id"]).to_csv(folder / "readings.csv", index=False)
    capsys.readouterr()
    return folder


@pytest.mark.parametrize("format_", ["dicom-sr", "gsps"])
def test_exported_documents_come_back(study, tmp_path, capsys, format_):
    before = {kind: pd.read_csv(study / f"{kind}.csv") for kind in ("marks", "readings", "images")}
    out = tmp_path / "documents"
    assert main(["export", str(study), "--format", format_, "--output", str(out)]) == 0
    documents = [str(path) for path in sorted(out.rglob("*.dcm"))]
    for kind in ("marks", "readings"):
        (study / f"{kind}.csv").unlink()
    assert main(["import", *documents, "--output", str(study)]) == 0, capsys.readouterr().err
    marks, readings = (pd.read_csv(study / f"{kind}.csv") for kind in ("marks", "readings"))
    key = ["image_id", "reader_id"]
    assert sorted(map(tuple, readings[key].to_numpy())) == sorted(
        map(tuple, before["readings"][key].to_numpy())
    )
    order = [*key, "x_mm"]
    theirs, own = (table.sort_values(order).reset_index(drop=True) for table in (marks, before["marks"]))
    assert theirs[key].equals(own[key])
    np.testing.assert_allclose(theirs[COLUMNS[:4]], own[COLUMNS[:4]], atol=1e-3)
    assert pd.read_csv(study / "images.csv").equals(before["images"])


def test_two_files_of_one_instance_are_a_question(study, tmp_path, capsys):
    out = tmp_path / "documents"
    assert main(["export", str(study), "--format", "dicom-sr", "--output", str(out)]) == 0
    images = pd.read_csv(study / "images.csv", dtype=str)
    images["sop_instance_uid"] = images["sop_instance_uid"].iloc[0]
    images.to_csv(study / "images.csv", index=False)
    documents = [str(path) for path in out.rglob("*.dcm")]
    assert main(["import", *documents, "--output", str(study), "--overwrite"]) == 4
    assert "'dx0' and 'dx1' have" in " ".join(capsys.readouterr().err.split())
