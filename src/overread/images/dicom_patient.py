"""Whose image a DICOM file says it is."""

from __future__ import annotations

from pathlib import Path

from overread.files.regular import open_regular
from overread.images.dicom_elements import read_elements
from overread.images.dicom_file import dataset_of
from overread.images.files import is_dicom
from overread.images.limits import MAX_BYTES

__all__ = ["patient_of"]

PATIENT_NAME, PATIENT_ID = 0x00100010, 0x00100020


def patient_of(path: Path) -> tuple[str, str]:
    """PatientID and PatientName of a DICOM file; empty for others.

    Raises
    ------
    ImageError
        If the file is DICOM and damaged.
    """
    if not is_dicom(path):
        return "", ""
    with open_regular(path) as file:
        _, data, encoding = dataset_of(file.read(MAX_BYTES))
    elements, _ = read_elements(data, 0, encoding, [PATIENT_ID, PATIENT_NAME])
    patient_id, name = (
        bytes(elements[tag].value).decode("utf-8", "replace").strip(" \0") if tag in elements else ""
        for tag in (PATIENT_ID, PATIENT_NAME)
    )
    return patient_id, name
