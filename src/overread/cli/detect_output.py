"""What ``overread detect`` writes: a table, pictures, structured reports, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread.errors import UsageError
from overread.files.atomic import write_atomically
from overread.images import Radiograph
from overread.images.files import DICOM_ENDINGS, IMAGE_ENDINGS
from overread.marks.formats.dicom_sr_writer import header_of, write
from overread.marks.mark_set import MarkSet
from overread.plots import save_figure
from overread.report import detections_figure
from overread.study.detector import Detector, OperatingPoint
from overread.tables import write_table

__all__ = [
    "Reported",
    "refuse_other_than_dicom",
    "tell",
    "tell_bad",
    "write_detections",
    "write_overlay",
    "write_reports",
]


@dataclass(frozen=True, eq=False)
class Reported:
    """One image of a structured report: row of the images table, and the detections as marks."""

    image: dict[str, Any]
    marks: pd.DataFrame

    @classmethod
    def of(cls, path: Path, radiograph: Radiograph, found: pd.DataFrame) -> Reported:
        """Turn detections into circles that lie within the image, as DICOM wants."""
        x_side, y_side = radiograph.source_mm_per_px
        image = {"path": str(path.resolve()), "mm_per_px_x": x_side, "mm_per_px_y": y_side}
        image["image_id"] = str(header_of(str(path), image, Path()).SOPInstanceUID)
        rows, columns = radiograph.source_shape
        width, height = columns * x_side, rows * y_side
        # The grid may end a fraction of its pixel beyond the image.
        x, y = found["x_mm"].clip(1, width - 1), found["y_mm"].clip(1, height - 1)
        room = pd.concat([x, width - x, y, height - y], axis=1).min(axis=1) * 0.999
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


def write_reports(reported: Sequence[Reported], model: Detector, out: Path) -> list[Path]:
    """Write one structured report for each DICOM study, the detector as its observer."""
    reader = f"Overread {model.name}"
    images = pd.DataFrame([one.image for one in reported])
    marks = pd.concat([one.marks for one in reported], ignore_index=True)
    marks.insert(1, "reader_id", reader)
    readings = images[["image_id"]].assign(reader_id=reader)
    return write(MarkSet(marks, readings, images), out, images_folder=Path(), observer="device")


def write_overlay(radiograph: Radiograph, found: pd.DataFrame, path: Path) -> None:
    """Write a picture with the shown detections solid and the next ten candidates faint."""
    save_figure(detections_figure(radiograph, found), path)


def write_detections(tables: Sequence[pd.DataFrame], path: Path) -> Path:
    """Write all detections in one file."""
    table = pd.concat(tables, ignore_index=True)
    if path.suffix == ".csv":
        return write_table(table, path)
    return write_atomically(path, table.to_json(orient="records", double_precision=15).encode())


PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}


def tell_bad(bad: dict[str, str]) -> None:
    """Name the images that could not be used, with the reason."""
    from rich.console import Console

    for path, reason in bad.items():
        Console(stderr=True).print(f"{path}: {reason.removeprefix(f'{path}: ')}", style="red", **PLAIN)


def tell(
    model: Detector,
    point: OperatingPoint,
    tables: Sequence[pd.DataFrame],
    bad: dict[str, str],
    table: Path,
    reports: Sequence[Path],
    *,
    as_json: bool,
) -> None:
    """Say what was found, for people or for machines."""
    from json import dumps

    from rich.console import Console

    n_shown = sum(int(part["shown"].sum()) for part in tables)
    if as_json:
        summary = {
            "model": model.name,
            "fp_target": point.fp_target,
            "threshold": point.threshold,
            "images": len(tables),
            "detections": n_shown,
            "table": str(table),
            "reports": [str(path) for path in reports],
            "bad_images": bad,
        }
        print(dumps(summary, ensure_ascii=False))
        return
    tell_bad(bad)
    Console().print(
        f"{n_shown} detections in {len(tables)} images by {model.name} at the threshold for {point.fp_target:g} false "
        f"positives per image (score {point.threshold:.3g}): {table}",
        **PLAIN,
    )
    if reports:
        Console().print(f"{len(reports)} structured reports beside it", **PLAIN)
