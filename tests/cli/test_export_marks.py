"""``overread export``: out to a tool and back again."""

import json
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from dicom_marks import complaints, make_image, make_mark_set
from overread.images import write_dicom
from overread.marks import read_folder, read_marks, write_folder

TABLES = {
    "marks": "image_id,reader_id,mark_id,x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg,label\n"
    "00i,R1,m1,10.5,20.5,3,2,33,nodule\n",
    "readings": "image_id,reader_id\n00i,R1\n00i,R2\n",
    "images": "image_id,mm_per_px_x,mm_per_px_y,width_px,height_px\n00i,0.1,0.2,1000,500\n",
}


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "study"
    folder.mkdir()
    for kind, text in TABLES.items():
        (folder / f"{kind}.csv").write_text(text)
    return folder


def test_label_studio_there_and_back(answer, run, study, tmp_path):
    tasks, again = tmp_path / "tasks.json", tmp_path / "again"
    assert answer(["export", study, "--output", tasks]) == {"files": [str(tasks)]}
    back = ["--images", str(study / "images.csv"), "--image-key", "image_id", "--output", str(again)]
    assert run(["import", tasks, *back]) == 0
    pd.testing.assert_frame_equal(read_folder(again).marks, read_folder(study).marks)
    pd.testing.assert_frame_equal(read_folder(again).readings, read_folder(study).readings)
    assert run(["export", study, "--output", tasks]) == 2
    assert run(["export", study, "--output", tasks, "--overwrite"]) == 0
    assert run(["import", tasks, *back]) == 4
    assert run(["import", tasks, *back, "--overwrite"]) == 0


@pytest.mark.parametrize("name", ["dicom-sr", "gsps"])
def test_dicom_documents_there_and_back(answer, run, tmp_path, name):
    study, out, again = tmp_path / "study", tmp_path / "out", tmp_path / "again"
    study.mkdir()
    write_folder(make_mark_set(study), study)
    # As many anonymized files are.
    make_image(study / "a.dcm", "1.2.3.4", without=["StudyID", "AccessionNumber"])
    files = answer(["export", study, "--format", name, "--output", out])["files"]
    assert [complaints(Path(file)) for file in files] == [[]] * len(files)
    assert run(["import", *files, "--images", study / "images.csv", "--output", again]) == 0
    names = ["image_id", "reader_id", "mark_id"]
    before, after = (
        read_folder(folder).marks.sort_values(names, ignore_index=True) for folder in (study, again)
    )
    pd.testing.assert_frame_equal(after[before.columns], before, rtol=0, atol=2e-3)
    assert len(read_folder(again).readings) == 4


def test_plain_parquet(run, study, tmp_path, capsys):
    assert run(["export", study, "--format", "plain", "--parquet", "--output", tmp_path / "p"]) == 0
    assert "marks.parquet" in capsys.readouterr().out
    pd.testing.assert_frame_equal(read_folder(tmp_path / "p").marks, read_folder(study).marks)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--format", "cvat"], 2, "cannot be written"),
        (["--format", "dicom-sr"], 4, "needs the column path"),
        (["--geometry", "polyline"], 2, "no option geometry"),
    ],
)
def test_mistakes_get_one_line_and_a_code(run, study, tmp_path, capsys, arguments, code, words):
    assert run(["export", study, "--output", tmp_path / "x", *arguments]) == code
    assert words in capsys.readouterr().err


def test_a_folder_for_label_studio_has_pictures_interface_and_addresses(run, tmp_path, capsys):
    folder = tmp_path / "study"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 4000, (90, 120)).astype(np.uint16)
    write_dicom(folder / "a b.dcm", pixels, 0.5, patient_id="P", image_id="1")
    (folder / "images.csv").write_text(
        "image_id,path,mm_per_px_x,mm_per_px_y,width_px,height_px\na b,a b.dcm,0.5,0.5,120,90\n"
    )
    (folder / "readings.csv").write_text("image_id,reader_id\na b,R1\na b,R2\n")
    shape = "x_mm,y_mm,semi_major_mm,semi_minor_mm,angle_deg"
    (folder / "marks.csv").write_text(
        f"image_id,reader_id,mark_id,{shape},label\na b,R1,m,30,20,5,3,40,Mass <1>\n"
    )
    out = tmp_path / "for tool"
    command = ["export", str(folder), "--output", str(out), "--members", "R1=ann@example.org"]
    assert run(command) == 0
    assert "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT=" in capsys.readouterr().out
    assert cv2.imread(str(out / "images" / "a b.png"), cv2.IMREAD_UNCHANGED).shape == (90, 120)
    assert '<Label value="Mass &lt;1&gt;"/>' in (out / "config.xml").read_text()
    (task,) = json.loads((out / "tasks.json").read_text())
    assert task["data"]["image"] == "/data/local-files/?d=for%20tool/images/a%20b.png"
    members = [annotation["completed_by"]["email"] for annotation in task["annotations"]]
    assert members == ["ann@example.org", "R2"]
    assert run(command) == 2
    back = read_marks(out / "tasks.json", images=folder / "images.csv")
    assert back.marks[["x_mm", "y_mm"]].to_numpy()[0] == pytest.approx([30, 20], abs=1e-9)
