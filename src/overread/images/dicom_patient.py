"""Whose image a DICOM file says it is, and how it says that it was made."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from overread.images.dicom_elements import read_elements
from overread.images.dicom_file import dataset_of
from overread.images.files import is_dicom
from overread.images.limits import MAX_BYTES
from overread.words import join_lines

__all__ = ["Header", "read_header"]

PATIENT_NAME, PATIENT_ID = 0x00100010, 0x00100020
# What describes an image without naming a patient: column of the images table and element (PS3.6).
DESCRIBING = {"sex": 0x00100040, "view": 0x00185101, "manufacturer": 0x00080070, "kvp": 0x00180060}
# The longest text that these elements may have (LO, PS3.5).
LONGEST = 64


@dataclass(frozen=True)
class Header:
    """Texts of a file's header; empty where it has none.

    ``description`` has sex, view, manufacturer and kvp, those that the file states.
    """

    patient_id: str = ""
    patient_name: str = ""
    description: dict[str, str] = field(default_factory=dict)


def read_header(path: Path) -> Header:
    """Read the header of a DICOM file; an empty one for others.

    Raises
    ------
    ImageError
        If the file is DICOM and damaged.
    """
    if not is_dicom(path):
        return Header()
    with path.open("rb") as file:
        _, data, encoding = dataset_of(file.read(MAX_BYTES))
    tags = [PATIENT_ID, PATIENT_NAME, *DESCRIBING.values()]
    elements, _ = read_elements(data, 0, encoding, tags)
    texts = {
        tag: bytes(elements[tag].value).decode("utf-8", "replace").strip(" \0") if tag in elements else ""
        for tag in tags
    }
    stated = {name: join_lines(texts[tag])[:LONGEST].strip() for name, tag in DESCRIBING.items()}
    return Header(
        texts[PATIENT_ID], texts[PATIENT_NAME], {name: text for name, text in stated.items() if text}
    )
