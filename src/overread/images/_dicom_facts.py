"""Facts in a DICOM file besides its pixels: patient, view, body part.

Names, birth dates and UIDs of studies are only for comparing files; they are never written.

The module also lists the image files of a folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from overread._text import join_lines
from overread.files import open_regular
from overread.images._dicom import DICOM_PREFIX, PREAMBLE, dataset_of, read_elements
from overread.images._limits import MAX_BYTES
from overread.marks import IMAGE_ENDINGS

OURS = {"runs", "known"}


def image_files(folder: Path) -> list[Path]:
    """Possible image files in a folder and its subfolders, sorted by path.

    They are recognized by their ending or, for DICOM, by their content. Hidden files and Overread's folders are
    skipped.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if any(part.startswith(".") for part in parts) or parts[0] in OURS:
            continue
        if path.is_file() and (path.suffix.lower() in IMAGE_ENDINGS or is_dicom(path)):
            found.append(path)
    return found


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM by its content: many are named by a UID, whose last number is not an ending."""
    try:
        with open_regular(path) as file:
            return file.read(PREAMBLE + len(DICOM_PREFIX))[PREAMBLE:] == DICOM_PREFIX
    except OSError:
        return False


# Media Storage Directory Storage (PS3.6 annex A): a DICOMDIR.
DIRECTORY_CLASS = "1.2.840.10008.1.3.10"
# ViewPosition (PS3.3 C.8.1.2) has AP, PA, LL, RL and decubitus, and free terms of makers.
LATERAL_WORDS = ("LL", "RL", "LAT", "LATERAL", "LLAT", "RLAT")
PROJECTION_MODALITIES = ("CR", "DX", "DR", "RG", "RF", "XA", "OT", "SC", "")
# Longest text of the describing elements (LO, PS3.5).
LONGEST = 64
AS_WRITTEN = ("patient_id", "name", "study", "instance", "manufacturer")
CHEST_WORDS = ("CHEST", "THORAX", "LUNG", "RIBS", "TORSO")


def _text(tag: int) -> str:
    """Field that holds the text of an element."""
    text: str = field(default="", metadata={"tag": tag})
    return text


@dataclass(frozen=True)
class DicomFacts:
    """Text of some attributes, in upper case except ids; empty if missing or not a DICOM file."""

    patient_id: str = _text(0x00100020)
    name: str = _text(0x00100010)
    birth_date: str = _text(0x00100030)
    study: str = _text(0x0020000D)
    instance: str = _text(0x00080018)
    modality: str = _text(0x00080060)
    series: str = _text(0x0008103E)
    body_part: str = _text(0x00180015)
    view_position: str = _text(0x00185101)
    orientation: str = _text(0x00200020)
    burned_in: str = _text(0x00280301)
    sex: str = _text(0x00100040)
    manufacturer: str = _text(0x00080070)
    kvp: str = _text(0x00180060)

    @property
    def description(self) -> dict[str, str]:
        """Facts on the image that do not name a patient, by column of the images table, if stated.

        Structured reports and presentation states refer to the image by its SOP instance UID.
        """
        texts = {
            "sex": self.sex,
            "view": self.view_position,
            "manufacturer": self.manufacturer,
            "kvp": self.kvp,
            "sop_instance_uid": self.instance,
        }
        stated = {name: join_lines(text)[:LONGEST].strip() for name, text in texts.items()}
        return {name: text for name, text in stated.items() if text}

    @property
    def view(self) -> str:
        """``"lateral"``, ``"ap"`` or ``"pa"`` by ViewPosition, else by PatientOrientation; empty if unknown.

        The row direction of a lateral view runs to the front or the back of the patient, that of a frontal one to a
        side (PS3.3 C.7.6.1.1.1); it does not distinguish AP from PA, so a frontal orientation counts as ``"pa"``.
        """
        words = self.view_position.replace("_", " ").split()
        if any(word in LATERAL_WORDS for word in words):
            return "lateral"
        if words and words[0] in ("AP", "PA"):
            return words[0].lower()
        rows = self.orientation.split("\\")[0]
        if rows[:1] in ("A", "P"):
            return "lateral"
        return "pa" if rows[:1] in ("L", "R") else ""

    @property
    def is_other_than_chest(self) -> bool:
        """Whether the file states that it is not a radiograph, or shows another part of the body."""
        part = self.body_part
        other_part = bool(part) and not any(word in part for word in CHEST_WORDS)
        return other_part or self.modality not in PROJECTION_MODALITIES


def is_directory(path: Path) -> bool:
    """Whether a file is a DICOMDIR: the index of a medium, under any name."""
    with open_regular(path) as file:
        head = file.read(4096)
    start = PREAMBLE + len(DICOM_PREFIX)
    return head[PREAMBLE:start] == DICOM_PREFIX and DIRECTORY_CLASS.encode() in head[start:]


def facts_of(path: Path) -> DicomFacts:
    """Read the facts of a DICOM file; empty for others."""
    if not is_dicom(path):
        return DicomFacts()
    with open_regular(path) as file:
        _, data, encoding = dataset_of(file.read(MAX_BYTES))
    tags = {one.name: one.metadata["tag"] for one in fields(DicomFacts)}
    elements, _ = read_elements(data, 0, encoding, tags.values())
    texts = {
        name: bytes(elements[tag].value).decode("utf-8", "replace").strip(" \0")
        for name, tag in tags.items()
        if tag in elements
    }
    return DicomFacts(**{name: text if name in AS_WRITTEN else text.upper() for name, text in texts.items()})
