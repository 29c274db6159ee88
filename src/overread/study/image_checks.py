"""What `overread check` finds in the image files: the findings of `overread init`, as problems with row and remedy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from overread.errors import InvalidInputError
from overread.marks.formats.building import Spacings
from overread.marks.mark_set import StudyScan, find_path
from overread.study.image_findings import Finding, FoundImage, find_findings, look_at_files, shows_chests
from overread.study.inputs import code_patients
from overread.study.near_copies import compare_rows, find_different
from overread.study.unit_checks import read_settings_if_sound
from overread.tables.column_table import open_columns
from overread.tables.problems import Problem, Severity
from overread.tables.validation import check_marks
from overread.words import shell_word

__all__ = ["check_feature_rows", "check_pictures", "find_common_spacing"]


def check_pictures(scan: StudyScan, folder: Path) -> list[Problem]:
    """Open every image file and say what is strange.

    Parameters
    ----------
    scan
        The study's tables.
    folder
        The study's folder.

    Returns
    -------
    list of Problem
        Pixels or patients in two splits are leakage, everything else a warning.
    """
    images, settings = scan.images, read_settings_if_sound(folder)
    if images is None or "path" not in images or "image_id" not in images:
        return []
    file = str(find_path(folder, "images"))
    files = [folder / path for path in images["path"] if path and (folder / path).is_file()]
    found, unreadable = look_at_files(files, folder, Spacings(find_common_spacing(images)))
    by_path = {image.path: image for image in found}
    rows = {Path(path).as_posix(): row for row, path in enumerate(images["path"])}
    problems = [
        Problem(
            file,
            rows[path] + 2,
            "path",
            reason,
            f"overread init {shell_word(folder)} --drop missing",
            "warning",
        )
        for path, reason in unreadable.items()
    ]
    patients = images["patient_id"] if "patient_id" in images else [""] * len(images)
    listed = [
        (image_id, patient, by_path[path])
        for image_id, patient, path in zip(images["image_id"], patients, images["path"], strict=True)
        if path in by_path
    ]
    is_chest = settings.region.is_chest
    problems += findings_as_problems(
        find_findings(listed, is_chest=is_chest, different=find_different(images)), images, folder, file
    )
    if is_chest and not shows_chests(found):
        problems.append(
            Problem(
                str(folder / "study.toml"),
                None,
                None,
                "in most images no pair of lungs is seen, and [region] kind is chest",
                'set kind to "field_of_view", "masks" or "all" (docs/explanation/fields.md)',
                "warning",
            )
        )
    if scan.marks is not None:
        problems += marks_beyond_measured(scan.marks, images, by_path, str(find_path(folder, "marks")))
    return problems


def check_feature_rows(scan: StudyScan, folder: Path) -> list[Problem]:
    """Find images of two patients whose candidates have the same features, in a study that brings its own.

    A table that cannot be read is left to `run`, which says why.
    """
    own = read_settings_if_sound(folder).inputs.features
    if own is None or scan.images is None or "image_id" not in scan.images:
        return []
    images = scan.images
    patients = code_patients(images)
    splits = images["split"] if "split" in images else pd.Series("", index=images.index)
    try:
        table = open_columns(folder / own, "features")
        pairs = compare_rows(table, dict(zip(images["image_id"], patients, strict=True)))
    except InvalidInputError:
        return []
    rows = {image_id: row for row, image_id in enumerate(images["image_id"])}
    problems = []
    different = find_different(images)
    for one, other in pairs or ():
        if (one, other) in different:
            continue
        leaks = splits.iloc[rows[one]] != splits.iloc[rows[other]]
        message = f"image {other!r}: the same features of candidates as image {one!r} of another patient"
        cure = Finding("copy", other, one).cure(folder)
        severity: Severity = "leakage" if leaks else "warning"
        place = str(find_path(folder, "images"))
        problems.append(Problem(place, rows[other] + 2, "image_id", message, cure, severity))
    return problems


def find_common_spacing(images: pd.DataFrame) -> tuple[float, float] | None:
    """Return the size of a pixel that all images have by the table, as `init` was told it; None where there is none."""
    if not {"mm_per_px_x", "mm_per_px_y"} <= set(images.columns):
        return None
    told = images[["mm_per_px_x", "mm_per_px_y"]].drop_duplicates()
    width, height = (float(value) for value in told.iloc[0])
    return (width, height) if len(told) == 1 and not math.isnan(width + height) else None


def findings_as_problems(
    findings: list[Finding], images: pd.DataFrame, folder: Path, file: str
) -> Iterator[Problem]:
    """Give findings the row of their image; pixels or patients in two splits are leakage."""
    splits = dict(zip(images["image_id"], images["split"], strict=True)) if "split" in images else {}
    rows = {image: row for row, image in enumerate(images["image_id"])}
    for finding in findings:
        own, other = splits.get(finding.image_id, ""), splits.get(finding.other, "")
        leaks = finding.kind in ("duplicate", "copy", "patient") and own != other
        also = f", and in another split ({other} and {own})" if leaks else ""
        severity: Severity = "leakage" if leaks else "warning"
        message = f"image {finding.image_id!r}: {finding}{also}"
        yield Problem(file, rows[finding.image_id] + 2, "path", message, finding.cure(folder), severity)


def marks_beyond_measured(
    marks: pd.DataFrame, images: pd.DataFrame, by_path: dict[str, FoundImage], file: str
) -> list[Problem]:
    """Find marks outside images whose size the table lacks, by the size of the file."""
    measured = []
    for row in images.to_dict("records"):
        found = by_path.get(row["path"])
        own = [
            float(row.get(name, math.nan)) for name in ("width_px", "height_px", "mm_per_px_x", "mm_per_px_y")
        ]
        if found is None or not any(math.isnan(value) for value in own):
            continue
        told = [float(found.shape[1]), float(found.shape[0]), *(found.mm_per_px or (math.nan, math.nan))]
        sizes = [theirs if math.isnan(mine) else mine for mine, theirs in zip(own, told, strict=True)]
        measured.append((row["image_id"], *sizes))
    if not measured:
        return []
    names = ["image_id", "width_px", "height_px", "mm_per_px_x", "mm_per_px_y"]
    table = pd.DataFrame(measured, columns=names)
    here = marks["image_id"].isin(table["image_id"])
    problems = check_marks(marks[here].reset_index(drop=True), None, table, file=file)
    rows = marks.index[here].tolist()
    return [
        Problem(
            file, rows[problem.row - 2] + 2, problem.column, problem.message, problem.remedy, problem.severity
        )
        for problem in problems
        if problem.row is not None and "its image" in problem.message
    ]
