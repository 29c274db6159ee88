"""Issue 28, item 15: a table of foreign images is refused; marks here stand beside those of the lock."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

from overread.cli import main
from overread.detection.mark_rate import MarkRate
from overread.errors import ModelFileError
from overread.study.detector import Detector, OperatingPoint
from overread.tables import write_table
from reading_room import make_study, write_detections

SIX = [f"case{number}" for number in range(6)]


@pytest.fixture
def read(tmp_path, monkeypatch, capsys):
    """Open the room of a study by the command, with nobody who comes; return exit code and all that is said."""
    monkeypatch.setattr("overread.reading.server.serve", lambda *_, **__: None)

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
    assert "6 images that the study has not, such as 'IMG_1'" in said
    assert "case0" in said
    # Nothing is half done: the room still opens without, and takes the right table.
    assert read(study)[0] in (None, 0)
    right = write_detections(tmp_path / "e.csv", [(name, 20, 30) for name in SIX])
    assert read(study, "--detector", str(right))[0] in (None, 0)


def test_one_foreign_image_is_enough(read, tmp_path):
    study = make_study(tmp_path / "study", 6)
    table = write_detections(tmp_path / "d.csv", [(name, 20, 30) for name in [*SIX, "case6"]])
    code, said = read(study, "--detector", str(table))
    assert (code, "such as 'case6'" in said) == (4, True)


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
        assert main(["detect", path, *images, "-o", str(tmp_path / name), "--workers", "1", *as_json]) in (
            None,
            0,
        )
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


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (0.1, "more than chance explains (p < 0.0001)"),
        (2.8, "in 100 images."),
        (30.0, "fewer than chance explains"),
    ],
)
def test_the_line_says_which_number_is_which(before, words):
    said = MarkRate(OperatingPoint(1.0, 0.0, 100, before, before).record(), 4, 11).tell()
    assert "2.75 marks per image here (11 in 4 images); its threshold is locked for 1 false positives" in said
    assert f"it made {before:.2f} marks per image, true and false, in 100 images." in said
    assert words in said
    assert ("chance" in said) == ("chance" in words)
    assert "nothing is compared" in MarkRate(OperatingPoint(1.0, 0.0).record(), 4, 11).tell()


def test_opening_a_room_says_it_too(read, trained, study, tmp_path):
    path = str(knowing(trained, 0.1).write(tmp_path / "detector.json"))
    code, said = read(study, "--detector", path)
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


@pytest.mark.parametrize(("marks", "n_images"), [(0, 24), (3, 24), (31, 24), (109, 24), (7, 1), (40, 500)])
def test_the_p_value_is_that_of_a_negative_binomial_law(marks, n_images):
    point = OperatingPoint(1.0, 0.0, 80, 1.3, 2.1)
    mean, variance = n_images * 1.3, n_images * 2.1 * (1 + n_images / 80)
    law = nbinom(mean**2 / (variance - mean), mean / variance)
    expected = min(1.0, 2 * min(law.cdf(marks), law.sf(marks - 1)))
    assert MarkRate(point.record(), n_images, marks).p_value == pytest.approx(expected, rel=1e-9)


def test_images_of_the_same_kind_are_seldom_named():
    """Lesions in a third of the images, false positives that crowd in some: far from Poisson, and drawn again."""
    rng = np.random.default_rng(0)

    def draw(n):
        return rng.negative_binomial(0.8, 0.8 / 1.8, n) + rng.binomial(2, 0.8, n) * (rng.random(n) < 1 / 3)

    named = {}
    for n_lock, n_here in ((60, 24), (150, 24), (150, 300), (1000, 10)):
        sets = [(draw(n_lock), draw(n_here)) for _ in range(1000)]
        rates = [
            MarkRate(
                OperatingPoint(1.0, 0.0, n_lock, lock.mean(), lock.var(ddof=1)).record(),
                n_here,
                int(here.sum()),
            )
            for lock, here in sets
        ]
        named[n_lock, n_here] = np.mean([rate.differs for rate in rates])
    assert max(named.values()) < 0.02, named
    # The two that were seen: 4.5 marks per image against 1, 0.4 against 3.
    for before, here, n in ((1.0, 109, 24), (3.0, 39, 98)):
        assert MarkRate(OperatingPoint(1.0, 0.0, 80, before, 2 * before).record(), n, here).p_value < 1e-4
