"""A folder of images becomes a study, without anything that names a patient."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pydicom
import pytest

from overread.cli import main
from overread.errors import InvalidInputError, StorageError, TableError, UsageError
from overread.images import write_dicom
from overread.marks import read_left_out
from overread.study import make_study as make_study_of
from overread.study import parse_settings, read_settings, run_study
from overread.tables import read_table, write_table
from study_stand_in import FAST, LIGHT, MM_PER_PX, make_study, spec

SECRETS = ("Mustermann", "Erika", "1967-04-12", "19670412", "MRN-77", "Dr. Geheim", "Klinikum Nirgendwo")


def dicom(path: Path, pixels: np.ndarray, number: int) -> None:
    """Write a DICOM file with names in many of its tags."""
    write_dicom(
        path, pixels.astype(np.uint16) << 8, MM_PER_PX, patient_id=f"MRN-77-{number}", image_id=str(number)
    )
    dataset = pydicom.dcmread(path)
    dataset.PatientName = "Mustermann^Erika"
    dataset.PatientBirthDate = "19670412"
    dataset.ReferringPhysicianName = "Dr. Geheim"
    dataset.InstitutionName = "Klinikum Nirgendwo"
    dataset.PatientComments = "Erika Mustermann, 1967-04-12"
    dataset.save_as(path)


@pytest.fixture
def pngs(tmp_path: Path) -> Path:
    """Write PNG files named like those of the NIH, and a file that is no image."""
    folder = tmp_path / "pngs"
    (folder / "deep" / "er").mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(6):
        place = folder / ("deep/er" if number > 3 else ".") / f"0000{number // 2:04d}_{number:03d}.png"
        cv2.imwrite(str(place), random.integers(0, 255, (60, 80), dtype=np.uint8))
    (folder / "broken.png").write_bytes(b"nothing")
    (folder / "notes.txt").write_text("notes")
    return folder


def test_a_folder_of_pngs(pngs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern = r"^([0-9]+)_"
    assert main(["init", str(pngs), "--mm-per-px", "0.7", "--patient-pattern", pattern]) == 0
    said = capsys.readouterr().out
    assert "6 images, 3 patients known" in said
    assert "broken.png" in said
    assert "overread import" in said
    images = read_table(pngs / "images.csv", "images")
    assert images["image_id"].tolist()[0] == "00000000_000"
    assert set(images["path"]) == {path.relative_to(pngs).as_posix() for path in pngs.rglob("0*.png")}
    assert (images["mm_per_px_x"] == 0.7).all()
    assert (images["width_px"] == 80).all()
    assert images["patient_id"].nunique() == 3
    assert not images["patient_id"].str.contains("0000").any()
    settings = read_settings(pngs / "study.toml")
    # Noise shows no lungs: it is proposed as a picture of another kind, and nothing else is set.
    assert settings.region.kind == "all"
    expected = parse_settings(
        {"region": {"kind": "all"}, "units": {"unit": "px"}, "merging": {"method": "linkage"}}
    )
    assert settings == expected


def test_without_a_spacing_the_remedy_is_named(pngs: Path) -> None:
    with pytest.raises(InvalidInputError, match="--mm-per-px"):
        make_study_of(pngs)


def test_raw_patients_only_on_request(pngs: Path) -> None:
    make_study_of(pngs, mm_per_px=0.7, patients="raw", patient_pattern=r"^([0-9]+)_")
    assert set(read_table(pngs / "images.csv", "images")["patient_id"]) == {
        "00000000",
        "00000001",
        "00000002",
    }


def test_a_second_time_gives_the_same_table(pngs: Path) -> None:
    made = make_study_of(pngs, mm_per_px=0.7, patient_pattern=r"^([0-9]+)_")
    first = (pngs / "images.csv").read_bytes()
    (pngs / "study.toml").write_text("seed = 5\n")
    again = make_study_of(pngs, mm_per_px=0.7, patient_pattern=r"^([0-9]+)_")
    assert (pngs / "images.csv").read_bytes() == first
    assert (pngs / "study.toml").read_text() == "seed = 5\n"
    assert [path.name for path in made.written] == ["found_files.csv", "images.csv", "study.toml"]
    assert [path.name for path in again.written] == ["found_files.csv", "images.csv"]
    make_study_of(pngs, mm_per_px=0.7, overwrite=True)
    assert read_settings(pngs / "study.toml").seed == 0


def test_ids_of_an_import_find_their_files(pngs: Path) -> None:
    names = ["/data/upload/1/0a1b2c3d-00000000_000.png", "00000000_001", "deep/er/00000002_004.png"]
    write_table(pd.DataFrame({"image_id": names, "patient_id": ["p", "", "q"]}), pngs / "images.csv")
    make_study_of(pngs, mm_per_px=0.7)
    images = read_table(pngs / "images.csv", "images")
    assert images["image_id"].tolist() == names
    assert images["path"].tolist() == ["00000000_000.png", "00000000_001.png", "deep/er/00000002_004.png"]
    assert images["patient_id"].tolist() == ["p", "", "q"]


def test_what_is_left_out_is_kept_with_its_reason(pngs: Path) -> None:
    made = make_study_of(pngs, mm_per_px=0.7)
    kept = pd.read_csv(pngs / "found_files.csv", keep_default_na=False).set_index("path")["reason"]
    assert list(kept.index) == sorted(["broken.png", *read_table(pngs / "images.csv", "images")["path"]])
    assert kept[kept != ""].to_dict() == made.unreadable == {"broken.png": kept["broken.png"]}
    images = read_table(pngs / "images.csv", "images")
    write_table(images.head(4), pngs / "images.csv")
    again = make_study_of(pngs)
    kept = pd.read_csv(pngs / "found_files.csv", keep_default_na=False).set_index("path")["reason"]
    assert (
        sorted(kept.index[kept.str.endswith("does not list it")])
        == again.unlisted
        == list(images["path"][4:])
    )


def test_what_headers_tell_of_the_images_is_kept_in_columns(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for number, sex in enumerate("FM"):
        path = tmp_path / f"{number}.dcm"
        dicom(path, random.integers(0, 255, (60, 80)), number)
        dataset = pydicom.dcmread(path)
        dataset.PatientSex, dataset.Manufacturer, dataset.KVP = sex, "Acme", "120"
        dataset.save_as(path)
    make_study_of(tmp_path)
    images = read_table(tmp_path / "images.csv", "images")
    assert images["sex"].tolist() == ["F", "M"]
    assert images["manufacturer"].tolist() == ["Acme", "Acme"]
    assert images["kvp"].tolist() == ["120", "120"]
    write_table(images.assign(sex=["x", "y"]).drop(columns="kvp"), tmp_path / "images.csv")
    make_study_of(tmp_path)
    again = read_table(tmp_path / "images.csv", "images")
    assert again["sex"].tolist() == ["x", "y"]
    assert again["kvp"].tolist() == ["120", "120"]
    make_study_of(tmp_path, patients="none", overwrite=True)
    assert "sex" not in read_table(tmp_path / "images.csv", "images")


def test_an_id_without_a_file(pngs: Path) -> None:
    write_table(pd.DataFrame({"image_id": ["00000000_000", "lost"]}), pngs / "images.csv")
    with pytest.raises(TableError, match="row 3, column path: no readable image file goes by the id 'lost'"):
        make_study_of(pngs, mm_per_px=0.7)


def test_two_ids_with_one_file(pngs: Path) -> None:
    names = ["a/00000000_000.png", "00000000_001", "b/00000000_000.png"]
    write_table(pd.DataFrame({"image_id": names}), pngs / "images.csv")
    with pytest.raises(TableError, match=r"row 4, column path: 00000000_000\.png goes by the id"):
        make_study_of(pngs, mm_per_px=0.7)


@pytest.mark.parametrize("pattern", ["(", "no group"])
def test_a_pattern_that_is_none(pngs: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match="--patient-pattern"):
        make_study_of(pngs, mm_per_px=0.7, patient_pattern=pattern)


def test_folders_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "nowhere")]) == 2
    assert main(["init", str(tmp_path)]) == 4
    assert main(["init", str(tmp_path), "--mm-per-px", "-1"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_json(pngs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(pngs), "--mm-per-px", "0.7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["images"] == 6
    assert list(told["unreadable"]) == ["broken.png"]


def test_a_file_named_after_its_patient(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for number in range(2):
        dicom(tmp_path / f"mustermann_{number}.dcm", random.integers(0, 255, (60, 80)), number)
    with pytest.raises(UsageError, match="--ids hash") as caught:
        make_study_of(tmp_path)
    assert "ustermann" not in str(caught.value)
    make_study_of(tmp_path, ids="hash")
    images = read_table(tmp_path / "images.csv", "images")
    assert images["image_id"].str.fullmatch("[0-9a-f]{16}").all()
    assert "MRN" not in images.drop(columns="path").to_csv()
    assert images["patient_id"].nunique() == 2
    assert (images["mm_per_px_x"] == MM_PER_PX).all()


def test_names_in_dicom_tags_show_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole study of DICOM files, made by init, with broken files among them."""
    source = make_study(tmp_path / "source", n_images=16, settings=FAST)
    study = tmp_path / "study"
    study.mkdir()
    for number in range(16):
        pixels = cv2.imread(str(source / f"images/{number:03d}.png"), cv2.IMREAD_GRAYSCALE)
        dicom(study / f"case {number:03d}.dcm", pixels, number // 2)
    for kind in ("marks", "readings"):
        shutil.copy(source / f"{kind}.csv", study)
    assert main(["init", str(study)]) == 0
    assert "Next: overread run" in capsys.readouterr().out
    assert read_table(study / "images.csv", "images")["patient_id"].nunique() == 8
    (study / "study.toml").write_text(LIGHT)
    cut = (study / "case 003.dcm").read_bytes()
    (study / "case 003.dcm").write_bytes(cut[: len(cut) // 2])
    dataset = pydicom.dcmread(study / "case 007.dcm")
    dataset.PhotometricInterpretation = "RGB"
    dataset.save_as(study / "case 007.dcm")
    execution = {"executor": "processes", "workers": 2}
    report = run_study(study, pipeline=spec(through_the_gateway=True), execution=execution)
    assert report.n_quarantined == 2
    out, err = capsys.readouterr()
    written = [path for path in report.folder.rglob("*") if path.is_file()]
    written += [study / "images.csv", study / "reader_codes.csv", study / "study.toml"]
    for secret in SECRETS:
        assert secret not in out + err
        for path in written:
            assert secret.encode() not in path.read_bytes(), (secret, path)


def test_the_spacing_of_the_table_is_kept(pngs: Path) -> None:
    names = ["00000000_000", "00000000_001"]
    table = pd.DataFrame({"image_id": names, "mm_per_px_x": [0.2, 0.4], "mm_per_px_y": [0.2, 0.4]})
    write_table(table, pngs / "images.csv")
    make_study_of(pngs)
    assert read_table(pngs / "images.csv", "images")["mm_per_px_x"].tolist() == [0.2, 0.4]
    with pytest.raises(TableError, match=r"images.csv, row 3, column mm_per_px_x: 0.4 in the table, but 0.2"):
        make_study_of(pngs, mm_per_px=0.2)
    table.loc[1, "mm_per_px_y"] = np.nan
    write_table(table, pngs / "images.csv")
    with pytest.raises(TableError, match=r"row 3, column mm_per_px_y: is empty.*--mm-per-px"):
        make_study_of(pngs)


def test_a_folder_named_after_a_patient(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for number, folder in enumerate(("Mustermann", "other")):
        (tmp_path / folder).mkdir()
        dicom(tmp_path / folder / "image.dcm", random.integers(0, 255, (60, 80)), number)
    with pytest.raises(UsageError, match="--ids hash"):
        make_study_of(tmp_path)


def test_files_named_by_uid(tmp_path: Path) -> None:
    names = ["1.2.826.0.1.4", "1.2.826.0.1.5"]
    for number, name in enumerate(names):
        dicom(tmp_path / name, np.random.default_rng(number).integers(0, 255, (60, 80)), number)
    make_study_of(tmp_path)
    assert read_table(tmp_path / "images.csv", "images")["image_id"].tolist() == names


def test_init_import_and_drop_what_nobody_read(pngs: Path) -> None:
    made = make_study_of(pngs, mm_per_px=0.7)
    assert any("overread import FILE" in note for note in made.notes)
    source = pngs.parent / "source"
    source.mkdir()
    ellipse = {"x_mm": 20.0, "y_mm": 20.0, "semi_major_mm": 5.0, "semi_minor_mm": 4.0, "angle_deg": 0.0}
    image = {"image_id": ["00000000_000"]}
    write_table(pd.DataFrame(image), source / "images.csv")
    write_table(pd.DataFrame({**image, "reader_id": ["r"]}), source / "readings.csv")
    write_table(
        pd.DataFrame({**image, "reader_id": ["r"], "mark_id": ["m"], **ellipse}), source / "marks.csv"
    )
    assert main(["import", str(source), "--output", str(pngs)]) == 0
    assert len(read_table(pngs / "images.csv", "images")) == 6
    assert main(["init", str(pngs), "--mm-per-px", "0.7", "--drop", "unread"]) == 0
    assert read_table(pngs / "images.csv", "images")["path"].tolist() == ["00000000_000.png"]
    assert set(read_left_out(pngs).values()) >= {"no reader read it"}
    assert "deep/er/00000002_004.png" in read_left_out(pngs)
    assert make_study_of(pngs, mm_per_px=0.7).unlisted == []


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a" * 63, b"a" * 65, b"A" * 64, b"a" * 64 + b"\n"])
def test_a_damaged_salt_is_an_error(pngs: Path, content: bytes) -> None:
    (pngs / ".patient_salt").write_bytes(content)
    with pytest.raises(InvalidInputError, match="is not the secret that init wrote"):
        make_study_of(pngs, mm_per_px=0.7)
    assert (pngs / ".patient_salt").read_bytes() == content
    assert not (pngs / "images.csv").exists()


def test_the_salt_is_private_and_stays_so(pngs: Path) -> None:
    salt = pngs / ".patient_salt"
    make_study_of(pngs, mm_per_px=0.7)
    assert (salt.stat().st_mode & 0o777, len(salt.read_bytes())) == (0o600, 64)
    salt.chmod(0o644)
    make_study_of(pngs, mm_per_px=0.7)
    assert salt.stat().st_mode & 0o777 == 0o600


def test_init_is_refused_after_an_import_that_was_stopped_and_goes_on_after_itself(pngs: Path) -> None:
    marker = pngs / ".overread-unfinished"
    marker.write_text("marks.csv\nreadings.csv\nimages.csv")
    with pytest.raises(TableError, match="was interrupted"):
        make_study_of(pngs, mm_per_px=0.7)
    marker.write_text("images.csv\nstudy.toml")
    make_study_of(pngs, mm_per_px=0.7)
    assert not marker.exists()


def test_a_link_that_a_stranger_put_there_is_not_written_through(pngs: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    (pngs / "study.toml").symlink_to(precious)
    with pytest.raises(StorageError, match="leads out of"):
        make_study_of(pngs, mm_per_px=0.7, overwrite=True)
    assert precious.read_text() == "mine"


def test_what_was_imported_in_pixels_is_no_chest(pngs: Path) -> None:
    """As the import's last line has it: the size of a pixel is not said a second time."""
    ids = [path.stem for path in sorted(pngs.rglob("0*.png"))]
    write_table(pd.DataFrame({"image_id": ids, "mm_per_px_x": 1.0, "mm_per_px_y": 1.0}), pngs / "images.csv")
    assert main(["init", str(pngs)]) == 0
    settings = read_settings(pngs / "study.toml")
    assert (settings.region.kind, settings.units.unit) == ("all", "px")
    assert "images and marks (docs/explanation/fields.md)" in (pngs / "study.toml").read_text()


def test_what_the_images_are_can_be_said(pngs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(pngs), "--mm-per-px", "0.7", "--region", "field_of_view"]) == 0
    assert read_settings(pngs / "study.toml").region.kind == "field_of_view"
    assert f"after the import, remove {pngs / 'study.toml'}" in capsys.readouterr().out
    assert main(["init", str(pngs), "--mm-per-px", "0.7", "--region", "chest", "--overwrite"]) == 0
    assert read_settings(pngs / "study.toml").region.kind == "chest"


def test_a_folder_of_files_that_are_not_read_names_their_ending(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"mdb{number}.pgm").write_bytes(b"P5")
    with pytest.raises(InvalidInputError, match=r"3 of its files end in \.pgm: .*convert them"):
        make_study_of(tmp_path)
