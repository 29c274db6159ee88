"""`nih-240x3`: 240 real radiographs without finding, each three times, with nodules and eight readers.

An image is defined by numbers alone: the file's 8-bit values, resampled to 0.7 mm by a cubic spline; each nodule of
its table inserted, white being 255; the result times 257, rounded to 16 bits. The resampling is written out here,
beside the one of `overread.images`, because this one may never change.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from overread.errors import ImageError, InvalidInputError
from overread.images import read_source
from overread.simulate.backgrounds import BackgroundFile, background_files
from overread.simulate.benchmarks.frozen import FrozenCohort
from overread.simulate.cases import Background

__all__ = ["NIH_GRID_MM", "nih_background", "nih_files"]

NIH_GRID_MM = 0.7
WHITE = 255.0


def nih_background(file: BackgroundFile, lungs: NDArray[np.bool_] | None = None) -> Background:
    """File on the benchmark's grid; without lungs it can be built on, not drawn on."""
    if file.mm_per_px is None:
        raise InvalidInputError(
            f"{file.path}: the benchmark needs mm_per_px_x and mm_per_px_y of every background"
        )
    stored = read_source(file.path).stored
    if stored.dtype != np.uint8:
        raise ImageError(f"{file.path}: a background of the benchmark has 8 bits, not {stored.dtype}")
    shape = (stored.shape[0], stored.shape[1])
    places = [
        (np.arange(round(n * size / NIH_GRID_MM)) + 0.5) * (NIH_GRID_MM / size) - 0.5
        for n, size in zip(shape, file.mm_per_px[::-1], strict=True)
    ]
    grid = np.meshgrid(*places, indexing="ij")
    values = map_coordinates(stored.astype(np.float64), grid, order=3, mode="nearest")
    empty = np.zeros(values.shape, dtype=bool)
    return Background(
        pixels=np.clip(values, 0.0, WHITE),
        mm_per_px=NIH_GRID_MM,
        lungs=empty if lungs is None else lungs,
        black=0.0,
        white=WHITE,
    )


def nih_files(cohort: FrozenCohort, folder: str | Path, images_csv: str | Path) -> dict[str, BackgroundFile]:
    """Backgrounds of the benchmark by their file name.

    Raises
    ------
    InvalidInputError
        If a background is not there.
    """
    # The patients' numbers are public and part of the file names; as codes they would divide the cohort otherwise.
    listed = background_files(folder, images_csv, code_patients=False)
    files = {file.path.name: file for file in listed}
    missing = sorted(set(cohort.images["background"]) - set(files))
    if missing:
        raise InvalidInputError(
            f"{images_csv}: {cohort.name} needs {len(missing)} backgrounds that are not listed: "
            f"{', '.join(missing[:3])}, ..."
        )
    return files
