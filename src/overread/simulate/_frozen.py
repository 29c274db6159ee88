"""Cohorts that never change, so that every later version of the system is measured on the same images.

A frozen cohort is data: tables of its nodules with all their numbers, its distractors, readings and marks, and a
manifest with the hash of every image. Its images are built from those numbers and the backgrounds alone; lung
fields, laws and readers were used once, when it was drawn, and may change since.

`nih-240x3`: 240 real radiographs without finding, each three times, with nodules and eight readers.

An image is defined by numbers alone: the file's 8-bit values, resampled to 0.7 mm by a cubic spline; each nodule of
its table inserted, white being 255; the result times 257, rounded to 16 bits. The resampling is written out here,
beside the one of `overread.images`, because this one may never change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from overread._text import short_repr
from overread.errors import ImageError, InvalidInputError, UsageError
from overread.images import SourceImage, pixel_fingerprint, read_source
from overread.simulate._backgrounds import BackgroundFile, background_files
from overread.simulate._cases import Background

BENCHMARKS = {"nih-240x3": "nih_240x3", "phantom-1978": "phantom_1978"}
"""Frozen cohorts by name, with the folder of their tables."""
TABLES = ("images", "nodules", "distractors", "readings", "marks")
TEXT = dict.fromkeys(
    ("image_id", "background", "reader_id", "mark_id", "object_id", "nodule_id", "harmonics"), str
)
BLOCKS = 3
ROUNDING_LEVELS = 0.5


@short_repr("name", "images", "nodules", "readings", "marks")
@dataclass(frozen=True, eq=False)
class FrozenCohort:
    """Tables of a frozen cohort, as they are in the package."""

    name: str  # Name that never gets another meaning
    about: dict[str, Any]  # How it was drawn, what it counted, and with which versions
    # The manifest: image_id, background, n_rows, n_columns, sha256 of the pixels (`pixel_fingerprint`),
    # block_means.
    images: pd.DataFrame
    # What is in the images, and what was marked.
    nodules: pd.DataFrame
    distractors: pd.DataFrame
    readings: pd.DataFrame
    marks: pd.DataFrame


@dataclass(frozen=True)
class Agreement:
    """An image beside the manifest."""

    image_id: str
    same: bool  # Whether every pixel is the same
    # Largest difference of the means of nine blocks, in grey levels of 65,535; 0 where all is the same. A
    # difference below half a level is rounding.
    largest_difference: float

    @property
    def same_to_rounding(self) -> bool:
        """Whether at most the rounding differs, as on another processor."""
        return self.same or self.largest_difference < ROUNDING_LEVELS


@cache
def frozen_cohort(name: str) -> FrozenCohort:
    """Load a frozen cohort by its name."""
    if name not in BENCHMARKS:
        raise UsageError(f"there is no benchmark {name!r}; there are {', '.join(sorted(BENCHMARKS))}")
    folder = resources.files("overread.simulate").joinpath("benchmarks", BENCHMARKS[name])
    about = json.loads(folder.joinpath("about.json").read_text(encoding="utf-8"))
    with resources.as_file(folder) as files:
        return FrozenCohort(name, about, *(_read_frozen(files / f"{kind}.csv") for kind in TABLES))


def _read_frozen(path: Path) -> pd.DataFrame:
    """Table of the package, ids as text; an empty cell is the empty text."""
    return pd.read_csv(path, dtype=TEXT, na_filter=False)


def fingerprint(pixels: NDArray[np.uint16]) -> str:
    """Hash of an image: what `overread.images.pixel_fingerprint` gives for a file that holds it."""
    return pixel_fingerprint(SourceImage(pixels, (0.0, 65535.0)))


def block_means(pixels: NDArray[np.uint16]) -> list[float]:
    """Means of 3 x 3 blocks that cover the image, row by row, to a hundredth of a level."""
    bands = np.array_split(pixels.astype(np.float64), BLOCKS, axis=0)
    return [round(float(block.mean()), 2) for band in bands for block in np.array_split(band, BLOCKS, axis=1)]


def compare_image(cohort: FrozenCohort, image_id: str, pixels: NDArray[np.uint16]) -> Agreement:
    """Compare an image that was built with the manifest."""
    row = cohort.images.loc[cohort.images["image_id"] == image_id].iloc[0]
    if fingerprint(pixels) == row["sha256"]:
        return Agreement(image_id, True, 0.0)
    if pixels.shape != (row["n_rows"], row["n_columns"]):
        return Agreement(image_id, False, float("inf"))
    expected = np.array([float(mean) for mean in row["block_means"].split()])
    return Agreement(image_id, False, float(np.abs(expected - block_means(pixels)).max()))


def compare_folder(name: str, folder: str | Path) -> list[Agreement]:
    """Compare the images of a study folder with the manifest of a benchmark."""
    cohort = frozen_cohort(name)
    paths = pd.read_csv(Path(folder) / "images.csv", dtype=str).set_index("image_id")["path"]
    return [
        compare_image(cohort, image_id, read_source(Path(folder) / paths[image_id]).stored)
        for image_id in cohort.images["image_id"]
    ]


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
    """Backgrounds of the benchmark by their file name."""
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
