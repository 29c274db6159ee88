"""A table of foreign images is refused; marks here stand beside those of the lock."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.cli import main
from overread.errors import ModelFileError
from overread.study import Detector
from overread.tables import write_table
from reading_room import make_study, write_detections

SIX = [f"case{number}" for number in range(6)]


@pytest.fixture
def read(tmp_path, monkeypatch, capsys):
    """Open the room of a study by the command, with nobody who comes; return exit code and all that is said."""
    monkeypatch.setattr("overread.apps.room._app.serve", lambda *_, **__: None)

    def open_room(study, *words):
        main(["read", str(study), "--add-reader", "A"])
        capsys.readouterr()
        code = main(["read", str(study), "--port", "0", *words])
        output = capsys.readouterr()
        return code, output.out + output.err

    return open_room


def test_a_table_of_foreign_images_is_refused(read, tmp_path):
    study = make_study(tmp_path / "study", 6)
    table = write_detections(tmp_path / "d.csv", [(f"IMG_{number}", 20, 30) for number in range(1, 7)])
    code, said = read(study, "--detector", str(table))
    assert code == 4
    assert "d.csv" in said
    assert "6 images not in the study, such as 'IMG_1'" in said
    assert "case0" in said
    # Nothing is half done: the room still opens without, and takes the right table.
    assert read(study)[0] in (None, 0)
    right = write_detections(tmp_path / "e.csv", [(name, 20, 30) for name in SIX])
    assert read(study, "--detector", str(right))[0] in (None, 0)


def test_a_table_of_before_an_image_was_dropped_is_taken(read, tmp_path):
    study = make_study(tmp_path / "study", 6)
    table = write_detections(tmp_path / "d.csv", [(name, 20, 30) for name in SIX])
    assert main(["init", str(study), "--drop", "case5"]) in (None, 0)
    code, said = read(study, "--detector", str(table))
    assert code in (None, 0)
    assert "d.csv: has detections of 1 images that are skipped in the study; they are not used" in said
    assert "1.00 marks per image here (5 in 5 images)." in said
    strange = write_detections(tmp_path / "e.csv", [(name, 20, 30) for name in [*SIX, "case6"]])
    other = make_study(tmp_path / "other", 6)
    main(["init", str(other), "--drop", "case5"])
    code, said = read(other, "--detector", str(strange))
    assert (code, "1 images not in the study, such as 'case6'" in said) == (4, True)


def test_a_room_of_version_0_2_is_not_said_to_know_no_threshold(read, trained, study, tmp_path):
    """It keeps the number that the threshold is locked for, and not the marks."""
    assert read(study, "--detector", str(trained.detector.write(tmp_path / "detector.json")))[0] in (None, 0)
    with closing(sqlite3.connect(study / "reading" / "room.sqlite")) as database:
        database.execute("DELETE FROM settings WHERE name = 'locked_at'")
        database.execute("DROP TRIGGER log_is_not_shortened")
        database.execute("DELETE FROM log WHERE what = 'setting' AND body LIKE '%locked_at%'")
        database.commit()
    said = read(study)[1]
    assert "How many it made where its threshold was locked is not known: nothing is compared." in said
    assert "locked for" not in said


def test_images_without_a_row_are_counted(read, tmp_path):
    study = make_study(tmp_path / "study", 6)
    table = write_detections(tmp_path / "d.csv", [("case0", 20, 30), ("case0", 50, 30), ("case1", 20, 30)])
    code, said = read(study, "--detector", str(table))
    assert code in (None, 0)
    assert "0.50 marks per image here (3 in 6 images)" in said
    assert "no row for 4 of them" in said


def knowing(trained, marks, n_images=100):
    """Return the trained detector with points that know how many marks they gave."""
    points = [
        replace(point, n_images=n_images, marks_per_image=marks, marks_variance=marks)
        for point in trained.detector.operating_points
    ]
    return replace(trained.detector, operating_points=tuple(points))


@pytest.fixture
def study(trained, tmp_path):
    """The three phantoms of the detector, as a study."""
    names = [path.stem for path in trained.dicom]
    table = pd.DataFrame(
        {"image_id": names, "patient_id": names, "path": [str(path) for path in trained.dicom]}
    )
    (tmp_path / "study").mkdir()
    write_table(table, tmp_path / "study" / "images.csv")
    return tmp_path / "study"


def test_detect_says_marks_here_beside_those_of_the_lock(trained, tmp_path, capsys):
    images, said = [str(path) for path in trained.dicom[:2]], {}
    for name, model in (("known", knowing(trained, 0.1)), ("old", trained.detector)):
        path = str(model.write(tmp_path / f"{name}.json"))
        as_json = ["--json"] if name == "old" else []
        assert main(["detect", path, *images, "-o", str(tmp_path / name), "--fp", "1", *as_json]) in (None, 0)
        said[name] = capsys.readouterr().out
    marks = len(pd.read_csv(tmp_path / "known" / "detections.csv"))
    assert f"{marks / 2:.2f} marks per image here ({marks} in 2 images)" in said["known"]
    assert "locked for 1 false positives per image, where it made 0.10 marks per image" in said["known"]
    assert "more than chance explains" in said["known"]
    # A detector of before does not know; then nothing is compared.
    record = json.loads(said["old"])
    assert record["marks_per_image"] == marks / 2
    assert record["marks_per_image_where_locked"] is None
    assert record["p_value_of_marks_per_image"] is None


def test_opening_a_room_says_it_too(read, trained, study, tmp_path):
    path = str(knowing(trained, 0.1).write(tmp_path / "detector.json"))
    code, said = read(study, "--detector", path, "--fp", "1")
    assert code in (None, 0)
    assert "where it made 0.10 marks per image, true and false, in 100 images" in said
    assert "more than chance explains" in said
    # And each time it is opened.
    assert "more than chance explains" in read(study)[1]


def test_the_file_of_a_detector_keeps_its_marks(trained, tmp_path):
    known = knowing(trained, 1.5, 80)
    again = Detector.read(known.write(tmp_path / "detector.json"))
    assert again.operating_points == known.operating_points
    for wrong in ({"n_images": 0}, {"marks_per_image": None}, {"marks_variance": -1.0}, {"n_images": np.inf}):
        point = replace(known.operating_points[0], **wrong)
        with pytest.raises(ModelFileError):
            replace(known, operating_points=(point,))
