"""Image files of a folder."""

from __future__ import annotations

from pathlib import Path

from overread.files.regular import open_regular
from overread.images.dicom_file import DICOM_PREFIX, PREAMBLE
from overread.marks.file_names import IMAGE_ENDINGS

__all__ = ["image_files", "is_dicom"]

OURS = {"runs", "known"}


def image_files(folder: Path) -> list[Path]:
    """Files that may be images, also in folders within, sorted by path.

    They are told by their ending or, for DICOM, by their content. Hidden files and Overread's own folders are passed
    over.
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
    """Whether a file is DICOM by its content: many are named by a UID, whose last number is no ending."""
    try:
        with open_regular(path) as file:
            return file.read(PREAMBLE + len(DICOM_PREFIX))[PREAMBLE:] == DICOM_PREFIX
    except OSError:
        return False
