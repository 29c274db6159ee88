"""Image files of a folder, and what a file's name says of the image."""

from __future__ import annotations

from pathlib import Path

from overread.files.regular import open_regular
from overread.images.dicom_file import DICOM_PREFIX, PREAMBLE

__all__ = ["DICOM_ENDINGS", "IMAGE_ENDINGS", "image_files", "is_dicom", "without_ending"]

DICOM_ENDINGS = (".dcm", ".dicom")
IMAGE_ENDINGS = (*DICOM_ENDINGS, ".png", ".tif", ".tiff", ".jpg", ".jpeg")
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


def without_ending(path: str) -> str:
    """Name of a file without an ending of images; a UID stays whole."""
    file = Path(path)
    return file.stem if file.suffix.lower() in IMAGE_ENDINGS else file.name
