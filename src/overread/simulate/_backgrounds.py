"""Backgrounds to put nodules in: phantoms, or the files of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from overread.domains import find_anatomy
from overread.errors import InvalidInputError, TableError
from overread.images import GRID_MM, read_image
from overread.marks import IMAGE_ENDINGS
from overread.simulate._cases import Background, Blob
from overread.simulate.chest._render import Phantom
from overread.tables import read_cells

# our own tables first, then the names that the NIH's table uses
PATH_COLUMNS = ("path", "file", "Image Index")
PATIENT_COLUMNS = ("patient_id", "patient", "Patient ID")


@dataclass(frozen=True)
class BackgroundFile:
    """A file, whose it is, and the size of its pixels (x, y) where it is given."""

    path: Path
    patient_id: str
    mm_per_px: tuple[float, float] | None = None


def background_files(
    folder: str | Path, images_csv: str | Path | None = None, *, code_patients: bool = True
) -> list[BackgroundFile]:
    """Files of a folder, in the order of their names or of the table."""
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInputError(f"{root}: there is no such folder of backgrounds")
    if images_csv is not None:
        files = _files_of_table(root, Path(images_csv))
        return _pseudonymize(files) if code_patients else files
    paths = sorted(p for p in root.iterdir() if p.suffix.lower() in IMAGE_ENDINGS and p.is_file())
    if not paths:
        raise InvalidInputError(f"{root}: no image file ({', '.join(IMAGE_ENDINGS)}) to use as a background")
    return [BackgroundFile(path, f"B{i + 1:05d}") for i, path in enumerate(paths)]


def _files_of_table(root: Path, table: Path) -> list[BackgroundFile]:
    """Files that a table names."""
    cells = read_cells(table)
    frame = pd.DataFrame(cells.rows, columns=cells.header, dtype=object)
    path_column = next((name for name in PATH_COLUMNS if name in frame), None)
    if path_column is None or not len(frame):
        raise TableError(f"{table}: needs rows, and a column path (or file) with the backgrounds")
    patient_column = next((name for name in PATIENT_COLUMNS if name in frame), None)
    files = []
    for i, row in enumerate(frame.to_dict(orient="records")):
        path = root / str(row[path_column])
        if not path.is_file():
            raise TableError(f"{table}, row {i + 2}, column {path_column}: there is no file {path}")
        patient = str(row[patient_column]) if patient_column else f"B{i + 1:05d}"
        files.append(BackgroundFile(path, patient, _stated_spacing(row, f"{table}, row {i + 2}")))
    return files


def _pseudonymize(files: Sequence[BackgroundFile]) -> list[BackgroundFile]:
    """Files with codes for their patients' ids, in the order of first appearance."""
    codes: dict[str | int, str] = {}
    result = []
    for i, file in enumerate(files):
        code = codes.setdefault(file.patient_id or i, f"P{len(codes) + 1:05d}")
        result.append(replace(file, patient_id=code))
    return result


def _stated_spacing(row: dict[object, object], where: str) -> tuple[float, float] | None:
    """Size of the pixels that a row states, if it does."""
    if "mm_per_px_x" not in row or "mm_per_px_y" not in row:
        return None
    try:
        return float(str(row["mm_per_px_x"])), float(str(row["mm_per_px_y"]))
    except ValueError:
        raise TableError(f"{where}: mm_per_px_x and mm_per_px_y must be numbers above 0") from None


def file_background(
    file: BackgroundFile, *, grid_mm: float = GRID_MM, behind_heart: bool = False
) -> Background:
    """Read a file onto the grid and find its lungs; its extremes become black and white.

    `behind_heart` takes the mediastinum that was found for the heart, so that nodules may lie there.
    """
    radiograph = read_image(file.path, mm_per_px=file.mm_per_px, grid_mm=grid_mm)
    inside = radiograph.pixels[radiograph.valid]
    anatomy = find_anatomy(radiograph)
    return Background(
        pixels=radiograph.pixels.astype(np.float64),
        mm_per_px=radiograph.mm_per_px,
        lungs=anatomy.lungs,
        black=float(inside.min()),
        white=float(inside.max()),
        heart=anatomy.mediastinum & ~anatomy.lungs if behind_heart else None,
    )


def phantom_background(image: Phantom) -> Background:
    """Background of a phantom: exact lungs, nodules possible behind the heart, its own distractors in the lungs."""
    rows, columns = image.shape
    blobs = []
    for x, y, diameter in image.distractors[["x_mm", "y_mm", "diameter_mm"]].itertuples(
        index=False, name=None
    ):
        row, column = int(y / image.mm_per_px), int(x / image.mm_per_px)
        if 0 <= row < rows and 0 <= column < columns and image.lungs[row, column]:
            blobs.append(Blob(float(x), float(y), max(float(diameter), 6.0), 0.0))
    return Background(
        pixels=image.pixels.astype(np.float64),
        mm_per_px=image.mm_per_px,
        lungs=image.lungs,
        black=0.0,
        white=1.0,
        heart=image.heart & ~image.lungs,
        bones=image.ribs | image.clavicles,
        known_blobs=tuple(blobs),
    )
