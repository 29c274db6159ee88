"""Detections as DICOM documents: structured reports (TID 1500) and presentation states, for PACS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread.domains import DomainImage
from overread.errors import InvalidInputError, UsageError
from overread.marks import DICOM_ENDINGS, IMAGE_ENDINGS, MarkSet, header_of, write_marks
from overread.tables import LengthUnit, named, scale_lengths

# Coordinates are written in single precision: a circle that just touches the border could leave it.
INSIDE = 0.999


@dataclass(frozen=True, eq=False)
class ImageReport:
    """One image of a document: row of the images table, and the detections as marks."""

    image: dict[str, Any]
    marks: pd.DataFrame

    @classmethod
    def of(
        cls,
        path: Path,
        radiograph: DomainImage,
        found: pd.DataFrame,
        *,
        unit: LengthUnit = "mm",
        label: str = "Nodule",
        border: float = 1.0,
    ) -> ImageReport:
        """Turn detections into circles that stay away from the border of the image, as DICOM wants; in mm or px."""
        if radiograph.source_mm_per_px is None or radiograph.source_shape is None:
            raise InvalidInputError(
                f"{path}: was not read from a file, so that a document cannot refer to it"
            )
        x_side, y_side = radiograph.source_mm_per_px
        image = {"path": str(path.resolve()), "mm_per_px_x": x_side, "mm_per_px_y": y_side}
        header = header_of(str(path), image, Path())
        image |= {"image_id": str(header.SOPInstanceUID), "study": str(header.StudyInstanceUID)}
        rows, columns = radiograph.source_shape
        width, height = columns * x_side, rows * y_side
        x = found["x"].clip(border, width - border)
        y = found["y"].clip(border, height - border)
        room = pd.concat([x, width - x, y, height - y], axis=1).min(axis=1) * INSIDE
        radius = found["radius"].clip(upper=room)
        marks = pd.DataFrame(
            {
                "image_id": image["image_id"],
                "mark_id": _name_marks(found),
                "x": x,
                "y": y,
                "semi_major": radius,
                "semi_minor": radius,
                "angle_deg": 0.0,
                "confidence": found["probability"],
                "rank": found["rank"],
                "label": label,
            }
        )
        in_mm = unit == "mm"
        return cls(
            image, named(marks if in_mm else scale_lengths(marks, 1 / x_side), "mm" if in_mm else "px")
        )


def _name_marks(found: pd.DataFrame) -> pd.Series[str]:
    """Return the candidates' ids; where they have no probability, with the rank in the image before them."""
    if not found["probability"].isna().any():
        return found["candidate_id"]
    return "rank " + found["rank"].astype("str") + ", " + found["candidate_id"]


def refuse_other_than_dicom(files: Sequence[Path]) -> None:
    """Refuse images other than DICOM, which cannot have a document."""
    for path in files:
        if path.suffix.lower() in IMAGE_ENDINGS and path.suffix.lower() not in DICOM_ENDINGS:
            raise UsageError(
                f"{path}: --sr and --gsps need DICOM images: a document refers to its image by its DICOM identity"
            )


@dataclass(frozen=True)
class Documents:
    """Documents to write; ``anonymous`` leaves out patient identifiers, ``mode`` sets file permissions."""

    sr: bool = False
    gsps: bool = False
    anonymous: bool = False
    mode: int | None = None


def write_documents(reports: Sequence[ImageReport], observer: str, out: Path, kinds: Documents) -> list[Path]:
    """Write a structured report for each DICOM study, a presentation state for each image, or both."""
    images = pd.DataFrame([report.image for report in reports])
    marks = pd.concat([report.marks for report in reports], ignore_index=True)
    marks.insert(1, "reader_id", observer)
    mark_set = MarkSet(marks, images[["image_id"]].assign(reader_id=observer), images)
    given: dict[str, Any] = {
        "images_folder": Path(),
        "observer": "device",
        "anonymous": kinds.anonymous,
        "mode": kinds.mode,
    }
    written = []
    if kinds.sr:
        written += write_marks(mark_set, out, "dicom-sr", **given)
    if kinds.gsps:
        written += write_marks(mark_set, out, "gsps", ranked=True, **given)
    return written
