"""Commands on a study of colour pictures, as its study.toml says."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from overread.images import write_dicom
from overread.study import Detector, open_run
from overread.tables import named, plain


@pytest.fixture
def run_of(field_study):
    return field_study / "runs" / "main-dark"


@pytest.fixture
def eye(field_study):
    return field_study / "images" / "eye03.png"


def test_detect_writes_pixels_and_draws_colours(run, run_of, eye, tmp_path):
    out = tmp_path / "found"
    command = ["detect", str(run_of), str(eye), "--fp", "2", "--all-candidates", "--overlay", "-o", str(out)]
    assert run(command) == 0
    table = pd.read_csv(out / "detections.csv")
    assert {"x_px", "y_px", "radius_px"} <= set(table.columns)
    kept = open_run(run_of).table("candidates")
    kept = kept[kept["image_id"] == "eye03"].set_index("candidate_id")
    found = table.astype({"candidate_id": "str"}).assign(
        candidate_id=table["candidate_id"].map("{:04d}".format)
    )
    assert found["x_px"].to_numpy() == pytest.approx(kept.loc[found["candidate_id"], "x_px"].to_numpy())
    drawn = np.asarray(Image.open(out / "eye03.overlay.png").convert("RGB")).astype(int)
    # The picture is reddish; a grey one has equal channels.
    middle = drawn[drawn.shape[0] // 3 : -drawn.shape[0] // 3, drawn.shape[1] // 3 : -drawn.shape[1] // 3]
    assert (middle[..., 0] - middle[..., 2]).mean() > 30


def test_scores_are_those_of_the_run(run_of, field_study):
    detector, scores = Detector.read(run_of / "detector.json"), open_run(run_of).table("scores")
    found = detector.detect(detector.read_image(field_study / "images" / "eye05.png")).set_index(
        "candidate_id"
    )
    own = scores[scores["image_id"] == "eye05"].set_index("candidate_id")
    assert found["score"].to_numpy() == pytest.approx(own.loc[found.index, "soft"].to_numpy(), abs=1e-5)


def test_explain_speaks_of_pictures_in_their_unit(run, run_of, capsys):
    assert run(["explain", run_of, "eye03"]) == 0
    said = capsys.readouterr().out
    assert " px, radius" in said
    assert " mm" not in said


def test_documents_are_refused_for_png_and_written_for_dicom(run, run_of, eye, tmp_path, capsys):
    assert run(["detect", run_of, eye, "--fp", "2", "--sr", "-o", tmp_path / "no"]) == 2
    assert "--sr and --gsps need DICOM images" in capsys.readouterr().err
    grey = np.asarray(Image.open(eye))[..., 1].astype(np.uint16) * 16
    write_dicom(tmp_path / "eye.dcm", grey, 0.2, patient_id="p", image_id="i")
    documents = ["--fp", "2", "--sr", "--gsps", "-o", tmp_path / "found"]
    assert run(["detect", run_of, tmp_path / "eye.dcm", *documents]) == 0
    from pydicom import dcmread

    written = [dcmread(path) for path in sorted((tmp_path / "found").glob("*.dcm"))]
    assert sorted(one.Modality for one in written) == ["PR", "SR"]
    table = pd.read_csv(tmp_path / "found" / "detections.csv")
    if len(table):
        report = next(one for one in written if one.Modality == "SR")
        assert "dark" in str(report)
        assert "Nodule" not in str(report)


def test_a_run_of_groups_has_no_detector_of_its_own(run, field_study, eye, capsys):
    assert run(["detect", field_study / "runs" / "main", eye]) == 2
    said = capsys.readouterr().err
    assert "main-pale" in said
    assert "main-dark" in said


def test_report_joins_the_groups_again(refused, run, field_study, tmp_path):
    root = field_study / "runs" / "main"
    assert run(["report", root, "-o", tmp_path / "again.html"]) == 0
    assert (tmp_path / "again.html").read_bytes() == (root / "report.html").read_bytes()
    for option in (["--figures", tmp_path / "figures"], ["--latex"]):
        assert f"{option[0]}: give the run of one group" in refused(["report", root, *option], 2)


def test_candidates_and_features_are_those_of_the_run(run, field_study, run_of, tmp_path, capsys):
    found, values = tmp_path / "candidates.csv", tmp_path / "features.parquet"
    assert run(["candidates", field_study, "--group", "dark", "-o", found]) == 0
    kept = open_run(run_of)
    table = pd.read_csv(found, dtype={"candidate_id": "str"})
    own = kept.table("candidates")
    assert table["radius_px"].to_numpy() == pytest.approx(own["radius_px"].to_numpy())
    given = ["--group", "dark", "--candidates", str(found), "--feature", "red.inside", "-o", str(values)]
    assert run(["features", "extract", field_study, *given]) == 0
    np.testing.assert_allclose(
        pd.read_parquet(values)["red.inside"], kept.features()["red.inside"], rtol=1e-4
    )
    assert run(["candidates", field_study, "-o", found]) == 2
    assert run(["candidates", field_study, "--group", "dark", "--finder", "log", "-o", found]) == 2
    assert run(["features", "extract", field_study, *given[:-3], "glcm", "-o", values]) == 2
    assert "no feature of these images" in capsys.readouterr().err


def test_show_draws_what_the_study_sees(run, field_study, eye, tmp_path, capsys):
    drawn = tmp_path / "seen.png"
    given = ["--study", field_study, "--group", "dark", "--limit", "5", "-o", drawn, "--json"]
    assert run(["show", eye, *given]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["candidates"]) == 5
    assert said["unit"] == "px"
    # A disc of 70 pixels, a little less at its edge, in 150 x 180.
    assert said["region_share"] == pytest.approx(np.pi * 70**2 / (150 * 180), abs=0.04)
    assert drawn.is_file()
    assert run(["show", eye, "--study", tmp_path, "-o", drawn]) == 2


def test_features_of_pictures_are_listed(answer, run, capsys):
    listed = answer(["features", "--pictures", "--family", "place"])
    assert {one["name"].partition(".")[0] for one in listed} == {"place"}
    assert run(["features", "--pictures", "--search", "border region"]) == 0
    assert "place.border" in capsys.readouterr().out


def test_check_is_content_with_pictures_and_names_the_region_of_a_study_of_chests(
    answer, run, field_study, tmp_path, capsys
):
    study = tmp_path / "eyes"
    shutil.copytree(field_study, study, ignore=shutil.ignore_patterns("runs"))
    problems = answer(["check", study])["problems"]
    assert [problem for problem in problems if problem["file"] != "marks"] == []
    (study / "study.toml").write_text("")
    # Chests are in mm, and the images table tells no size of a pixel.
    marks = study / "marks.csv"
    plain(pd.read_csv(marks, dtype=str))[0].pipe(named, "mm").to_csv(marks, index=False)
    assert run(["check", study, "--json"]) == 0
    told = [problem["message"] for problem in json.loads(capsys.readouterr().out)["problems"]]
    assert any("no pair of lungs is seen" in message for message in told)


def test_init_asks_what_a_pixel_is_where_marks_have_lengths(refused, run, field_study, tmp_path):
    study = tmp_path / "eyes"
    shutil.copytree(field_study, study, ignore=shutil.ignore_patterns("runs", "images.csv", "study.toml"))
    assert "give --mm-per-px (px: lengths are pixels" in refused(["init", study], 4)
    assert run(["init", study, "--mm-per-px", "px"]) == 0
    assert 'kind = "field_of_view"' in (study / "study.toml").read_text()
