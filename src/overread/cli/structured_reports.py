"""Detections as DICOM structured reports (TID 1500), for ``overread detect --sr``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread.errors import UsageError
from overread.images import Radiograph
from overread.images.files import DICOM_ENDINGS, IMAGE_ENDINGS
from overread.marks.formats.dicom_sr_writer import header_of, write
from overread.marks.mark_set import MarkSet

__all__ = ["ImageReport", "refuse_other_than_dicom", "write_reports"]

# A circle stays this far from the border; the grid may end a fraction of its pixel beyond the image.
BORDER_MM = 1.0
# Coordinates are written in single precision: a circle that just touches the border could leave it.
INSIDE = 0.999


@dataclass(frozen=True, eq=False)
class ImageReport:
    """One image of a structured report: row of the images table, and the detections as marks."""

    image: dict[str, Any]
    marks: pd.DataFrame

    @classmethod
    def of(cls, path: Path, radiograph: Radiograph, found: pd.DataFrame) -> ImageReport:
        """Turn detections into circles that lie within the image, as DICOM wants."""
        x_side, y_side = radiograph.source_mm_per_px
        image = {"path": str(path.resolve()), "mm_per_px_x": x_side, "mm_per_px_y": y_side}
        image["image_id"] = str(header_of(str(path), image, Path()).SOPInstanceUID)
        rows, columns = radiograph.source_shape
        width, height = columns * x_side, rows * y_side
        x = found["x_mm"].clip(BORDER_MM, width - BORDER_MM)
        y = found["y_mm"].clip(BORDER_MM, height - BORDER_MM)
        room = pd.concat([x, width - x, y, height - y], axis=1).min(axis=1) * INSIDE
        radius = found["radius_mm"].clip(upper=room)
        marks = pd.DataFrame(
            {
                "image_id": image["image_id"],
                "mark_id": found["candidate_id"],
                "x_mm": x,
                "y_mm": y,
                "semi_major_mm": radius,
                "semi_minor_mm": radius,
                "angle_deg": 0.0,
                "confidence": found["probability"],
                "label": "Nodule",
            }
        )
        return cls(image, marks)


def refuse_other_than_dicom(files: Sequence[Path]) -> None:
    """Say at once that only DICOM images can have a report."""
    for path in files:
        if path.suffix.lower() in IMAGE_ENDINGS and path.suffix.lower() not in DICOM_ENDINGS:
            raise UsageError(
                f"{path}: --sr needs DICOM images: a report refers to its image by its DICOM identity"
            )


def write_reports(
    reports: Sequence[ImageReport], observer: str, out: Path, *, anonymous: bool = False
) -> list[Path]:
    """Write one structured report for each DICOM study, the detector as its observer."""
    images = pd.DataFrame([report.image for report in reports])
    marks = pd.concat([report.marks for report in reports], ignore_index=True)
    marks.insert(1, "reader_id", observer)
    readings = images[["image_id"]].assign(reader_id=observer)
    return write(
        MarkSet(marks, readings, images), out, images_folder=Path(), observer="device", anonymous=anonymous
    )
