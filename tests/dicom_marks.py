"""Two DICOM images and a mark set on them, for the tests of DICOM documents."""

import math
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from overread.marks import MarkSet

COLUMNS = ["x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"]
DX = "1.2.840.10008.5.1.4.1.1.1.1"


def make_image(path: Path, uid: str, study: str = "1.2.3", without: Iterable[str] = (), **changes) -> None:
    header = Dataset()
    header.file_meta = FileMetaDataset()
    header.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    header.file_meta.MediaStorageSOPClassUID = header.SOPClassUID = DX
    header.file_meta.MediaStorageSOPInstanceUID = header.SOPInstanceUID = uid
    header.StudyInstanceUID, header.SeriesInstanceUID = study, f"{study}.1"
    header.Modality, header.PatientID, header.PatientName = "DX", "P1", "A^B"
    header.PatientBirthDate, header.PatientSex, header.AccessionNumber = "19700101", "O", ""
    header.StudyID, header.StudyDate, header.StudyTime = "1", "20200101", "120000"
    header.ReferringPhysicianName, header.SeriesNumber, header.InstanceNumber = "", 1, 1
    header.Rows, header.Columns = 2000, 1500
    for name, value in changes.items():
        setattr(header, name, value)
    for name in without:
        delattr(header, name)
    header.save_as(path, enforce_file_format=True)


def make_mark_set(folder: Path) -> MarkSet:
    """Three marks of R1 on images a and b; another reader read both and marked nothing."""
    uids = {"a": "1.2.3.4", "b": "1.2.3.5"}
    for name, uid in uids.items():
        make_image(folder / f"{name}.dcm", uid)
    images = pd.DataFrame(
        {
            "image_id": list(uids),
            "path": [f"{name}.dcm" for name in uids],
            "mm_per_px_x": [0.1, 0.1],
            "mm_per_px_y": [0.2, 0.2],
            "sop_instance_uid": list(uids.values()),
        }
    )
    readings = pd.DataFrame({"image_id": ["a", "b", "a", "b"], "reader_id": ["R1", "R1", "=1+1 é", "=1+1 é"]})
    marks = pd.DataFrame(
        {
            "image_id": ["a", "a", "b"],
            "reader_id": ["R1"] * 3,
            "mark_id": ["1.10", "1.1", "=x"],
            "x_mm": [30.0, 20.0, 75.0],
            "y_mm": [30.0, 50.5, 200.0],
            "semi_major_mm": [3.0, 5.0, 40.0],
            "semi_minor_mm": [2.0, 1.0, 0.5],
            "angle_deg": [30.0, 171.5, 60.0],
            "confidence": [0.3, math.nan, 1 / 3],
            "label": ["Nodule", "my own thing", ""],
        }
    )
    return MarkSet(marks, readings, images)


def complaints(path: Path) -> list[str]:
    """Errors and warnings of dciodvfy, but those on private codes and on what the image itself leaves empty."""
    validator = shutil.which("dciodvfy")
    if validator is None:
        pytest.skip("needs dciodvfy, from Debian's package dicom3tools")
    done = subprocess.run([validator, "-new", str(path)], capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    told = [line for line in lines if "Error" in line or "Warning" in line]
    return [line for line in told if "99OVERREAD" not in line and "to build DICOMDIR" not in line]
