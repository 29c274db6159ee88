"""What a DICOM header says of view, body part and medium."""

from __future__ import annotations

import numpy as np
import pydicom
import pytest

from overread.images import DicomFacts, facts_of, is_directory, write_dicom


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
