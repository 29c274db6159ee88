"""Cohorts of any size: images, tables and everything that is known of them, in one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from overread.errors import InvalidInputError, UsageError
from overread.images import GRID_MM
from overread.simulate.backgrounds import background_files
from overread.simulate.benchmarks.frozen import BENCHMARKS
from overread.simulate.cases import CaseLaw
from overread.simulate.field.field_readers import field_readers
from overread.simulate.field.recipe import FieldLaw, FieldRecipe
from overread.simulate.reader_fit import law_for_readers
from overread.simulate.recipes import (
    FileRecipe,
    Format,
    FrozenPhantomRecipe,
    NihRecipe,
    PhantomRecipe,
    Recipe,
)
from overread.simulate.study_folder import write_study

__all__ = ["benchmark", "cohort", "field_cohort"]

LAW_AND_MORE = "a law tells the readers and the nodules itself: give either it, or n_readers and nodules"


def cohort(
    folder: str | Path,
    *,
    n_images: int,
    n_readers: int | None = None,
    seed: int = 0,
    backgrounds: str | Path | None = None,
    images_csv: str | Path | None = None,
    law: CaseLaw | None = None,
    nodules: Literal["plain", "varied"] = "plain",
    format: Format = "dicom",
    grid_mm: float = GRID_MM,
    workers: int = 1,
) -> Path:
    """Write a cohort with known nodules and simulated readers as a study folder.

    The same arguments give the same bytes, whatever the number of workers. A run that was stopped is taken up by the
    same call.

    Parameters
    ----------
    folder
        A new folder, or one that the same call began.
    n_images, seed
        Size of the cohort, and the source of everything random.
    n_readers
        Readers of the cohort; 8 if neither they nor a law are given.
    backgrounds, images_csv
        Folder of real radiographs to put nodules in, and a table of them (`background_files`). They are taken in
        turn, so that a background may serve several images; these then share their patient. Without a folder every
        image is a phantom.
    law
        What is drawn, with its readers; the law fitted to the paper's counts if not given.
    nodules
        What the fitted law draws: plain ones, or six kinds (`VariedLaw`).
    format
        ``"dicom"``, or ``"png"`` with 16 bits.
    grid_mm
        Side of a pixel.
    workers
        Processes.

    Raises
    ------
    InvalidInputError
        If an argument has no meaning, or the folder holds something else.
    """
    if n_images < 1 or seed < 0:
        raise InvalidInputError("a cohort needs n_images >= 1 and seed >= 0")
    if images_csv is not None and backgrounds is None:
        raise UsageError("a table of backgrounds needs the folder of backgrounds too")
    if law is not None and (n_readers is not None or nodules != "plain"):
        raise UsageError(LAW_AND_MORE)
    drawn_by = law_for_readers(8 if n_readers is None else n_readers, nodules) if law is None else law
    recipe: Recipe
    if backgrounds is None:
        recipe = PhantomRecipe(n_images, drawn_by, seed, grid_mm)
    else:
        files = tuple(background_files(backgrounds, images_csv))
        recipe = FileRecipe(files, n_images, drawn_by, seed, grid_mm)
    return write_study(recipe, folder, format=format, workers=workers)


def field_cohort(
    folder: str | Path,
    *,
    n_images: int,
    n_readers: int | None = None,
    seed: int = 0,
    law: FieldLaw | None = None,
    workers: int = 1,
) -> Path:
    """Write a cohort of field phantoms with simulated readers as a study folder; see `cohort`.

    Parameters
    ----------
    folder, n_images, seed, workers
        As in `cohort`.
    n_readers
        Readers, all of whom read every picture; every second one draws rings around clusters. 4 if neither they nor
        a law are given.
    law
        What is drawn, with its readers.
    """
    if n_images < 1 or seed < 0:
        raise InvalidInputError("a cohort needs n_images >= 1 and seed >= 0")
    if law is not None and n_readers is not None:
        raise UsageError(LAW_AND_MORE)
    drawn_by = FieldLaw(readers=field_readers(4 if n_readers is None else n_readers)) if law is None else law
    return write_study(FieldRecipe(n_images, drawn_by, seed), folder, format="png", workers=workers)


def benchmark(
    name: str,
    folder: str | Path,
    *,
    backgrounds: str | Path | None = None,
    images_csv: str | Path | None = None,
    format: Format = "png",
    workers: int = 1,
) -> Path:
    """Write a frozen benchmark as a study folder.

    Parameters
    ----------
    name
        ``"nih-240x3"``, which needs its backgrounds, or ``"phantom-1978"``.
    folder, format, workers
        As in `cohort`.
    backgrounds, images_csv
        Folder of the NIH's images, and the table with their spacing and patients.
    """
    recipe = benchmark_recipe(name, backgrounds, images_csv)
    return write_study(recipe, folder, format=format, workers=workers)


def benchmark_recipe(name: str, backgrounds: str | Path | None, images_csv: str | Path | None) -> Recipe:
    """Recipe of a frozen benchmark."""
    if name not in BENCHMARKS:
        raise UsageError(f"there is no benchmark {name!r}; there are {', '.join(sorted(BENCHMARKS))}")
    if name == "phantom-1978":
        return FrozenPhantomRecipe()
    if backgrounds is None or images_csv is None:
        raise UsageError(f"{name} needs the folder of its backgrounds and their table of spacings")
    return NihRecipe(Path(backgrounds), Path(images_csv))
