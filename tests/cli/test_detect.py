import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pydicom
import pytest
from PIL import Image
from pydicom import dcmread

from dicom_marks import complaints
from overread.cli.detect import _name_pictures
from overread.images import read_image
from overread.marks import read_marks
from overread.study import Detector
from overread.study._calibration import TrainingFingerprints
from overread.tables import read_table


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    return str(trained.detector.write(tmp_path_factory.mktemp("model") / "detector.json"))


def found_in(trained, path):
    return trained.detector.detect(read_image(path, mm_per_px=0.7))


def test_dicom_and_png_of_the_same_pixels_have_the_same_detections(run, trained, model, tmp_path):
    for name, files, spacing in (("d", trained.dicom, []), ("p", trained.png, ["--mm-per-px", "0.7"])):
        assert run(["detect", model, *files, "-o", tmp_path / name, *spacing]) == 0
    tables = [pd.read_csv(tmp_path / name / "detections.csv", dtype={"candidate_id": str}) for name in "dp"]
    assert len(tables[0])
    pd.testing.assert_frame_equal(*(table.drop(columns=["image", "image_id"]) for table in tables))


def test_the_table_holds_what_reaches_the_threshold(run, trained, model, tmp_path):
    path = trained.dicom[0]
    assert run(["detect", model, path, "-o", tmp_path, "--fp", "2"]) == 0
    # Parsed by Python: that of pandas 3.0 is off by a last bit.
    table = pd.read_csv(tmp_path / "detections.csv", dtype={"candidate_id": str}, converters={"score": float})
    expected = found_in(trained, path)
    expected = expected[trained.detector.shown(expected, 2)]
    assert (expected["score"] >= trained.detector.operating_point(2).threshold).all()
    assert table["candidate_id"].tolist() == expected["candidate_id"].tolist()
    np.testing.assert_array_equal(table["score"], expected["score"])
    assert table["shown"].all()


def test_the_verdict_of_its_study_is_the_last_word(answer, run, trained, model, tmp_path, capsys):
    verdict = (
        "Too small to tell: with 9 consensus objects in unseen patients, the sensitivity may be 12 to 70 %."
    )
    judged = str(replace(trained.detector, verdict=verdict).write(tmp_path / "judged.json"))
    image = str(trained.dicom[0])
    assert run(["detect", judged, image, "-o", tmp_path / "a"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Verdict of its study: {verdict}"
    assert answer(["detect", judged, image, "-o", tmp_path / "b"])["verdict"] == verdict
    # A detector of before carries none, and nothing is made up.
    assert run(["detect", model, image, "-o", tmp_path / "c"]) == 0
    assert "Verdict of its study" not in capsys.readouterr().out


def test_all_candidates_as_json_and_a_summary_for_machines(run, trained, model, tmp_path, capsys):
    path = trained.dicom[0]
    options = ["--format", "json", "--all-candidates", "--json", "-o", str(tmp_path)]
    assert run(["detect", model, path, *options]) == 0
    rows = json.loads((tmp_path / "detections.json").read_text())
    expected = found_in(trained, path)
    assert [row["candidate_id"] for row in rows] == expected["candidate_id"].tolist()
    assert [row["score"] for row in rows] == pytest.approx(expected["score"].tolist(), rel=1e-12)
    summary = json.loads(capsys.readouterr().out)
    assert summary["detections"] == sum(row["shown"] for row in rows)
    assert summary["threshold"] == trained.detector.operating_point().threshold


def test_a_folder_an_overlay_and_each_file_once(run, trained, model, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(trained.png[0], folder / "a.png")
    arguments = [str(folder), str(folder / "a.png"), "--mm-per-px", "0.7", "--overlay", "-o", str(tmp_path)]
    assert run(["detect", model, *arguments]) == 0
    pixels = np.asarray(Image.open(tmp_path / "a.overlay.png").convert("RGB")).astype(int)
    assert (np.abs(pixels - [230, 159, 0]).sum(axis=2) < 40).sum() > 50
    assert (pixels.max(axis=2) - pixels.min(axis=2) < 3).mean() > 0.9


def test_reports_pass_dciodvfy_and_read_back_equal(run, trained, model, tmp_path):
    # All three images belong to one patient and, by its name, to one study each.
    out = tmp_path / "out"
    assert run(["detect", model, *trained.dicom, "--sr", "-o", out]) == 0
    reports = sorted(out.glob("*.dcm"))
    checker = shutil.which("dciodvfy")
    if checker is None:
        pytest.skip("needs dciodvfy")
    for report in reports:
        done = subprocess.run([checker, report], capture_output=True, text=True, check=False)
        assert "Error" not in done.stdout + done.stderr
    assert run(["import", *reports, "--mm-per-px", "0.7", "--output", tmp_path / "back"]) == 0
    marks = read_table(tmp_path / "back" / "marks.csv", "marks").sort_values(
        ["x_mm", "y_mm"], ignore_index=True
    )
    table = pd.read_csv(out / "detections.csv", dtype={"candidate_id": str}).sort_values(
        ["x_mm", "y_mm"], ignore_index=True
    )
    assert marks["mark_id"].tolist() == table["candidate_id"].tolist()
    assert set(marks["reader_id"]) == {"Overread Soft"}
    for column, other in (("x_mm", "x_mm"), ("y_mm", "y_mm"), ("confidence", "probability")):
        np.testing.assert_allclose(marks[column], table[other], rtol=1e-4)
    # A circle that would leave its image, which DICOM does not allow, is drawn smaller.
    assert (marks["semi_major_mm"] <= table["radius_mm"] * (1 + 1e-4)).all()
    whole = np.isclose(marks["semi_major_mm"], table["radius_mm"], rtol=1e-4)
    to_border = np.minimum(table["x_mm"], table["y_mm"])
    for path in trained.dicom:
        rows, columns = read_image(path).shape
        to_border = np.minimum(
            to_border, np.minimum(columns * 0.7 - table["x_mm"], rows * 0.7 - table["y_mm"])
        )
    assert (whole | (to_border < table["radius_mm"])).all()
    assert whole.any()
    readings = read_table(tmp_path / "back" / "readings.csv", "readings")
    assert len(readings) == 3


def test_presentation_states_beside_reports_say_the_same(run, trained, model, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["detect", model, trained.dicom[0], "--sr", "--gsps", "--json", "-o", out]) == 0
    report, state = json.loads(capsys.readouterr().out)["documents"]
    assert complaints(Path(report)) + complaints(Path(state)) == []
    back = [read_marks(path, mm_per_px=0.7).marks for path in (report, state)]
    pd.testing.assert_frame_equal(*back)
    assert len(back[0])


def test_a_header_without_type_2_attributes_has_documents_all_the_same(run, trained, model, tmp_path):
    image = dcmread(trained.dicom[0])
    for name in ("StudyID", "AccessionNumber", "PatientName", "StudyTime"):
        delattr(image, name)
    image.save_as(tmp_path / "bare.dcm")
    out = tmp_path / "out"
    assert run(["detect", model, tmp_path / "bare.dcm", "--sr", "--gsps", "-o", out]) == 0
    assert [dcmread(path).StudyID for path in out.glob("*.dcm")] == ["", ""]


def test_copies_of_an_image_share_a_document_and_a_forged_one_has_none(run, trained, model, tmp_path, capsys):
    first, other = dcmread(trained.dicom[0]), dcmread(trained.dicom[1])
    shutil.copy(trained.dicom[0], tmp_path / "a.dcm")
    shutil.copy(trained.dicom[0], tmp_path / "b.dcm")
    for name in ("SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID"):
        setattr(other, name, first[name].value)
    other.file_meta.MediaStorageSOPInstanceUID = first.SOPInstanceUID
    other.save_as(tmp_path / "c.dcm")
    images = [str(tmp_path / f"{name}.dcm") for name in "abc"]
    assert run(["detect", model, *images, "--sr", "--gsps", "--json", "-o", tmp_path / "out"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert list(told["bad_images"]) == [images[2]]
    assert "a.dcm has the same SOP instance UID" in told["bad_images"][images[2]]
    assert (len(told["documents"]), told["images"]) == (2, 3)


def test_given_again_it_goes_on_to_the_same_bytes(run, trained, model, tmp_path, capsys, monkeypatch):
    whole, out = tmp_path / "whole", tmp_path / "out"
    images, options = [str(path) for path in trained.dicom[:2]], ["--sr", "--gsps"]
    assert run(["detect", model, *images, *options, "-o", whole]) == 0
    work, done = Detector.detect, []

    def interrupted(self, radiograph, **_options):
        done.append(radiograph)
        if len(done) == 2:
            raise KeyboardInterrupt
        return work(self, radiograph)

    monkeypatch.setattr(Detector, "detect", interrupted)
    with pytest.raises(SystemExit, match="130"):
        run(["detect", model, *images, *options, "-o", out])
    assert not (out / "detections.csv").exists()
    assert run(["detect", model, *images, *options, "-o", out]) == 0
    assert "images per second; 1 were already processed" in capsys.readouterr().out
    assert len(done) == 3
    assert (out / "detections.csv").read_bytes() == (whole / "detections.csv").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in whole.iterdir())
    files = {path: path.read_bytes() for path in out.iterdir()}
    assert run(["detect", model, *images, *options, "-o", out]) == 0
    assert "all images were already processed" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in out.iterdir()} == files


def test_another_threshold_gives_another_report(run, trained, model, tmp_path):
    for fp in ("0.5", "2", "2"):
        assert run(["detect", model, trained.dicom[0], "--sr", "--fp", fp, "-o", tmp_path]) == 0
    assert len(list(tmp_path.glob("*.dcm"))) == 2


def test_where_no_image_can_be_used_nothing_is_written(run, model, tmp_path, capsys):
    assert run(["detect", model, tmp_path / "missing.png", "-o", tmp_path / "out"]) == 4
    told = capsys.readouterr().err
    assert "missing.png: no such file" in told
    assert "nothing was written" in told
    assert not list((tmp_path / "out").iterdir())
    (tmp_path / "file").touch()
    assert run(["detect", model, tmp_path / "missing.png", "-o", tmp_path / "file"]) == 2
    assert "is a file. Give --output a folder" in capsys.readouterr().err


def test_bad_images_are_named_and_the_others_done(run, trained, model, tmp_path, capsys):
    bad = tmp_path / "=cut[red].dcm"
    bad.write_bytes(trained.dicom[0].read_bytes()[:3000])
    arguments = [str(bad), str(tmp_path / "missing.png"), str(trained.dicom[1]), "-o", str(tmp_path / "out")]
    assert run(["detect", model, *arguments]) == 3
    said = capsys.readouterr()
    assert str(bad) in said.err
    assert "missing.png" in said.err
    assert "in 1 images" in said.out
    assert set(pd.read_csv(tmp_path / "out" / "detections.csv")["image"]) == {str(trained.dicom[1])}


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--fp", "0.7"], 2, "0.5, 1, 2"),
        (["--mm-per-px", "0,143"], 2, "--mm-per-px"),
        (["--sr"], 2, "--sr and --gsps need DICOM"),
        (["--gsps"], 2, "--sr and --gsps need DICOM"),
    ],
)
def test_mistakes_get_one_line(run, trained, model, tmp_path, capsys, options, code, told):
    assert run(["detect", model, trained.png[0], "-o", tmp_path / "out", *options]) == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_pictures_have_names_of_their_own():
    paths = [Path("p/a.png"), Path("q/a.png"), Path("r/a-1.png"), Path("r/b.dcm")]
    named = _name_pictures(paths, Path("out"))
    assert list(named) == paths
    assert [path.name for path in named.values()] == [
        f"{name}.overlay.png" for name in ("a-2", "a-3", "a-1", "b")
    ]


def test_an_input_is_never_overwritten(refused, trained, model, tmp_path):
    path = tmp_path / "a.overlay.png"
    shutil.copy(trained.png[0], path)
    shutil.copy(trained.png[0], tmp_path / "a.png")
    before = path.read_bytes()
    arguments = [str(tmp_path), "--mm-per-px", "0.7", "--overlay", "-o", str(tmp_path)]
    assert "is an input file" in refused(["detect", model, *arguments], 2)
    assert path.read_bytes() == before


def test_folders_within_are_searched_but_for_earlier_results(run, trained, model, tmp_path, capsys):
    study = tmp_path / "in"
    (study / "a").mkdir(parents=True)
    (study / "b").mkdir()
    for folder in ("a", "b"):
        shutil.copy(trained.png[0], study / folder / "one.png")
    (study / "notes.txt").write_text("no image")
    command = ["detect", model, study, "--mm-per-px", "0.7", "--overlay", "--json", "-o", study / "out"]
    for _ in range(2):
        assert run(command) == 0
        assert json.loads(capsys.readouterr().out)["images"] == 2
    table = pd.read_csv(study / "out" / "detections.csv")
    assert set(table["image_id"]) == {"a/one.png", "b/one.png"}


CANARIES = {
    "PatientName": "Mustermann^Erika",
    "PatientID": "MRN-77",
    "PatientBirthDate": "19670412",
    "AccessionNumber": "ACC-4711",
    "StudyDescription": "Thorax von Erika",
    "ReferringPhysicianName": "Geheim^Dr",
    "InstitutionName": "Klinikum Nirgendwo",
    "StudyID": "S-0815",
    "PatientComments": "Nachbarin",
}


def test_anonymous_detections_hold_nothing_of_the_patient(run, trained, model, tmp_path):
    dataset = pydicom.dcmread(trained.dicom[0])
    for keyword, value in CANARIES.items():
        setattr(dataset, keyword, value)
    named = tmp_path / "Mustermann" / "Erika.dcm"
    named.parent.mkdir()
    dataset.save_as(named)
    found = {}
    for option in ([], ["--anonymous"]):
        out = tmp_path / f"out{len(option)}"
        assert run(["detect", model, named, "--sr", "--overlay", "-o", out, *option]) == 0
        names = " ".join(path.name for path in out.iterdir()).encode()
        found[len(option)] = names + b"".join(path.read_bytes() for path in out.iterdir())
    secrets = [value.encode() for value in CANARIES.values()] + [b"Mustermann", b"Erika"]
    assert [secret for secret in secrets if secret in found[0]]
    assert [secret for secret in secrets if secret in found[1]] == []
    assert (tmp_path / "out1" / "image-0001.overlay.png").is_file()


def test_images_that_it_was_trained_on_are_named(answer, run, trained, tmp_path, capsys):
    """The PNG of a DICOM file shows the same."""
    seen = TrainingFingerprints.of([str(read_image(trained.dicom[0]).pixel_hash)])
    model = str(replace(trained.detector, seen=seen).write(tmp_path / "detector.json"))
    images = [str(trained.png[0]), str(trained.png[1])]
    arguments = ["detect", model, *images, "--mm-per-px", "0.7", "-o", str(tmp_path / "out")]
    assert run(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "It was trained on 1 of these 2 images" in said
    assert "its detections there do not show how good it is: case0" in said
    table = pd.read_csv(tmp_path / "out" / "detections.csv", dtype={"candidate_id": str})
    assert dict(zip(table["image_id"], table["in_training"], strict=True)) == {"case0": True, "case1": False}
    assert answer(arguments)["images_in_training"] == ["case0"]


def test_an_older_detector_does_not_know_its_images(run, trained, model, tmp_path, capsys):
    assert run(["detect", model, trained.dicom[0], "-o", tmp_path]) == 0
    assert "It does not record which images those were" in capsys.readouterr().out
    assert "in_training" not in pd.read_csv(tmp_path / "detections.csv")
    assert run(["detect", model, trained.dicom[0], "-o", tmp_path, "--workers", "0"]) == 2
    assert "--workers 0: give a whole number from 1" in capsys.readouterr().err
