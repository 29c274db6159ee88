"""Patient and description of a DICOM file's header, against pydicom."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pydicom
import pytest

from overread.errors import ImageError
from overread.images import write_dicom
from overread.images.dicom_patient import Header, read_header


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.dcm"
    write_dicom(path, np.arange(600, dtype=np.uint16).reshape(20, 30), 0.5, patient_id="P 1", image_id="a")
    return path


def test_what_the_file_states(file: Path) -> None:
    dataset = pydicom.dcmread(file)
    dataset.PatientName, dataset.PatientSex = "Doe^Jane", "F"
    dataset.Manufacturer, dataset.ViewPosition, dataset.KVP = "Acme\nX-ray ", "PA", "125"
    dataset.save_as(file)
    header = read_header(file)
    assert (header.patient_id, header.patient_name) == ("P 1", "Doe^Jane")
    assert header.description == {"sex": "F", "view": "PA", "manufacturer": "Acme X-ray", "kvp": "125"}


def test_what_it_does_not_state_is_not_there(file: Path) -> None:
    dataset = pydicom.dcmread(file)
    for name in ("PatientSex", "Manufacturer", "ViewPosition", "KVP"):
        if name in dataset:
            delattr(dataset, name)
    dataset.save_as(file)
    assert read_header(file).description == {}


def test_other_files_have_no_header_and_damaged_ones_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"no DICOM")
    assert read_header(tmp_path / "x.png") == Header()
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(ImageError):
        read_header(file)
