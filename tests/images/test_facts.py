"""What is told of a file beside its pixels: facts of a DICOM header, files of a folder, letters, sketches."""

import base64

import cv2
import numpy as np
import pydicom
import pytest

from overread.images import (
    MOST_LETTERS,
    DicomFacts,
    count_letters,
    decode_sketch,
    facts_of,
    image_files,
    is_directory,
    sketch,
    sketch_channels,
    write_dicom,
)
from overread.images._sketch import _average


@pytest.mark.parametrize(
    ("position", "orientation", "view"),
    [
        ("PA", "", "pa"),
        ("AP", "L\\F", "ap"),
        ("LL", "", "lateral"),
        ("RL", "", "lateral"),
        ("LATERAL", "", "lateral"),
        ("", "A\\F", "lateral"),
        ("", "P\\F", "lateral"),
        ("", "L\\F", "pa"),
        ("", "", ""),
    ],
)
def test_views(position, orientation, view):
    assert DicomFacts(view_position=position, orientation=orientation).view == view


@pytest.mark.parametrize(
    ("modality", "part", "other"),
    [("DX", "CHEST", False), ("CR", "", False), ("DX", "HAND", True), ("CT", "CHEST", True), ("", "", False)],
)
def test_other_parts_of_the_body(modality, part, other):
    assert DicomFacts(modality=modality, body_part=part).is_other_than_chest == other


def test_facts_are_read_from_a_file(tmp_path):
    path = tmp_path / "a.dcm"
    write_dicom(path, np.zeros((20, 30), np.uint16), 0.5, patient_id="P1", image_id="1")
    dataset = pydicom.dcmread(path)
    dataset.PatientName, dataset.PatientBirthDate = "Mueller^Ann", "19670412"
    dataset.ViewPosition, dataset.BurnedInAnnotation = "LL", "YES"
    dataset.save_as(path)
    facts = facts_of(path)
    assert (facts.patient_id, facts.birth_date, facts.view, facts.burned_in) == (
        "P1",
        "19670412",
        "lateral",
        "YES",
    )
    assert facts.study == dataset.StudyInstanceUID
    assert not is_directory(path)
    (tmp_path / "b.png").write_bytes(b"\x89PNG")
    assert facts_of(tmp_path / "b.png") == DicomFacts()
    assert not is_directory(tmp_path / "b.png")


def test_images_are_found_by_ending_or_content_in_all_folders(tmp_path):
    dicom = bytes(128) + b"DICM"
    files = {
        "b.PNG": b"",
        "deep/er/a.dcm": b"",
        "deep/1.2.840.3": dicom,
        "deep/IM0001": dicom,
        "deep/runs/c.tif": b"",
        "runs/main/overlay.png": b"",
        "known/mask.png": b"",
        ".hidden/d.png": b"",
        ".e.png": b"",
        "readme.txt": b"text",
        "IM0002": b"text",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "folder.png").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in image_files(tmp_path)]
    assert sorted(found) == ["b.PNG", "deep/1.2.840.3", "deep/IM0001", "deep/er/a.dcm", "deep/runs/c.tif"]


def picture(*texts):
    made = np.full((800, 700), 40, np.uint8)
    made[200:600, 150:550] = 180
    for text, place in texts:
        cv2.putText(made, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, 255, 2)
    return made


def test_names_and_dates_are_many_letters_and_a_side_marker_is_few():
    assert count_letters(picture()) == 0
    assert 0 < count_letters(picture(("L", (20, 40)))) <= MOST_LETTERS
    assert count_letters(picture(("MUSTER 1967", (10, 40)))) > MOST_LETTERS
    assert count_letters(picture(("MUSTER 1967", (530, 780)))) > MOST_LETTERS


@pytest.fixture
def pixels() -> np.ndarray:
    random = np.random.default_rng(1)
    return cv2.GaussianBlur(random.random((150, 210)), (0, 0), 3).astype(np.float32)


def test_it_does_not_depend_on_brightness_and_size(pixels: np.ndarray) -> None:
    assert sketch(7 * pixels + 100) == sketch(pixels)
    assert sketch_channels(np.repeat(pixels[..., None], 3, axis=2)) == sketch(pixels)
    larger = cv2.resize(pixels, None, fx=2, fy=3, interpolation=cv2.INTER_NEAREST)
    assert decode_sketch(sketch(larger)) @ decode_sketch(sketch(pixels)) > 0.999
    assert abs(decode_sketch(sketch(pixels[::-1])) @ decode_sketch(sketch(pixels))) < 0.5
    assert len(base64.b64decode(sketch(pixels))) == 24 * 24


@pytest.mark.parametrize("length", [5, 64, 100, 128])
def test_squares_are_averaged_with_parts_of_pixels(length: int) -> None:
    fine = np.repeat(np.eye(length), 64, axis=0).reshape(64, length, length).mean(axis=1)
    np.testing.assert_allclose(_average(length), fine, atol=1e-6)


@pytest.mark.parametrize("flat", [np.zeros((80, 80)), np.full((3, 2), 9.0)])
def test_a_flat_picture_has_none(flat: np.ndarray) -> None:
    assert sketch(flat.astype(np.float32)) == ""
