"""Cohorts of any size: images, tables and everything that is known of them, in one folder.

Write a cohort as a study folder: in parallel, so that it can be stopped and taken up again.

The folder's ``known/journal.jsonl`` (`overread.files.Journal`) gets a line an image, in their order, once its files are
on the device. A run that takes up a folder keeps every image whose line is there and whose files (image, mask,
anatomy) still have the hashes of the line. The tables are written from the journal, line by line, at the end. So
memory does not grow with the cohort, and the bytes depend on the recipe alone.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import cv2

from overread import __version__
from overread._child_process import start_children_safely
from overread._terminal import count_steps
from overread.errors import InvalidInputError, OverreadError, UsageError
from overread.files import (
    SIMULATION_FILE,
    Journal,
    digest_of_bytes,
    digest_of_file,
    read_regular,
    write_atomically,
)
from overread.images import GRID_MM
from overread.simulate._backgrounds import background_files
from overread.simulate._cases import CaseDistribution
from overread.simulate._frozen import BENCHMARKS
from overread.simulate._laws import law_for_readers
from overread.simulate._nodules import NoduleDistribution
from overread.simulate._readers import ReaderModel, field_readers, reader_panel
from overread.simulate._recipes import (
    FIELD_LAYOUT,
    ChestRecipe,
    Format,
    FrozenRecipe,
    PictureDistribution,
    PictureRecipe,
    Recipe,
)
from overread.simulate._tables import CHEST_LAYOUT, FolderLayout, write_tables

JOURNAL = "known/journal.jsonl"
# Images under way for each worker: enough that none waits, few enough that memory does not grow with the cohort.
WAITING_PER_WORKER = 4


def write_study(
    recipe: Recipe,
    folder: str | Path,
    *,
    format: Format = "dicom",
    workers: int = 1,
) -> Path:
    """Write all images, tables and known facts."""
    if format not in ("dicom", "png") or workers < 1:
        raise InvalidInputError("a study needs the format dicom or png, and at least one worker")
    target = Path(folder)
    settings = {"overread": __version__, "format": format, "recipe": recipe.settings()}
    text = json.dumps(settings, indent=1, sort_keys=True, default=str) + "\n"
    prepare(target, text)
    asked = digest_of_bytes(text.encode())
    with Journal(target / JOURNAL, asked, lock=(".lock", "another run is writing to it")) as journal:
        n_kept = journal.resume(lambda _, entry: _image_is_good(target, entry))
        make = partial(_write_image, recipe, target, format)
        entries = _make_images(make, range(n_kept, recipe.n_images), workers)
        try:
            for entry in count_steps("simulating: images", entries, recipe.n_images - n_kept):
                journal.add(entry["image_id"], entry)
        except BrokenProcessPool:
            raise OverreadError(f"{target}: a worker died (memory?); run the same command again") from None
        write_tables(target, journal, recipe.layout)
    return target


def prepare(folder: Path, settings: str) -> None:
    """Make the folder, or see that it was begun with the same settings."""
    file = folder / SIMULATION_FILE
    if file.exists():
        if read_regular(file) != settings.encode():
            raise InvalidInputError(
                f"{folder}: holds a study with another seed or other settings ({SIMULATION_FILE}); give another folder"
            )
    elif folder.exists() and any(_is_foreign(path) for path in folder.rglob("*")):
        raise InvalidInputError(f"{folder}: is not empty and holds no simulated study; give another folder")
    for name in ("images", "known/masks", "known/anatomy"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_atomically(file, settings.encode())


def _is_foreign(path: Path) -> bool:
    """Whether a path is neither a folder nor what a run leaves that is killed before it wrote anything."""
    return not path.is_dir() and not (path.name.startswith(".overread-") and path.name.endswith(".part"))


def _image_is_good(folder: Path, entry: dict[str, Any]) -> bool:
    """Whether all files of a line exist unchanged."""
    return all(
        (folder / path).is_file() and digest_of_file(folder / path) == sha256
        for path, sha256 in entry["files"].items()
    )


def _make_images(
    make: Callable[[int], dict[str, Any]], numbers: range, workers: int
) -> Iterator[dict[str, Any]]:
    """Entries of the images in order, a bounded number of them under way."""
    if workers == 1:
        yield from map(make, numbers)
        return
    context = get_context("spawn")
    with (
        start_children_safely(),
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=cv2.setNumThreads, initargs=(1,)
        ) as pool,
    ):
        under_way: deque[Future[dict[str, Any]]] = deque()
        try:
            for number in numbers:
                under_way.append(pool.submit(make, number))
                if len(under_way) >= WAITING_PER_WORKER * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _write_image(recipe: Recipe, folder: Path, format: Format, number: int) -> dict[str, Any]:
    """Make and write one image; its entry of the journal, with all that the tables need."""
    made = recipe.make(number)
    written = made.write_files(folder, format)
    files = {name: digest_of_file(folder / name) for name in written}
    return {**made.entry(), "path": written[0], "files": files}


LAW_AND_MORE = "a law sets the readers and the nodules itself: give either a law, or n_readers and nodules"


def cohort(
    folder: str | Path,
    *,
    n_images: int,
    n_readers: int | None = None,
    seed: int = 0,
    backgrounds: str | Path | None = None,
    images_csv: str | Path | None = None,
    law: CaseDistribution | None = None,
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
    folder : str or Path
        A new folder, or one that the same call began.
    n_images, seed
        Size of the cohort, and the source of everything random.
    n_readers : int, optional
        Readers of the cohort; 8 if neither they nor a law are given.
    backgrounds, images_csv : str or Path, optional
        Folder of real radiographs to put nodules in, and a table of them (`background_files`). They are taken in
        turn, so that a background may serve several images; these then share their patient. Without a folder every
        image is a phantom.
    law : CaseDistribution, optional
        What is drawn, with its readers; the law fitted to the paper's counts if not given.
    nodules : {'plain', 'varied'}, default='plain'
        What the fitted law draws: plain ones, or six kinds (`VariedLaw`).
    format : str, default='dicom'
        ``"dicom"``, or ``"png"`` with 16 bits.
    grid_mm : float, default=GRID_MM
        Side of a pixel.
    workers : int, default=1
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
    if nodules not in ("plain", "varied"):
        raise UsageError(f"nodules={nodules!r}: plain or varied")
    if law is not None and (n_readers is not None or nodules != "plain"):
        raise UsageError(LAW_AND_MORE)
    drawn_by = law_for_readers(8 if n_readers is None else n_readers, nodules) if law is None else law
    files = None if backgrounds is None else tuple(background_files(backgrounds, images_csv))
    recipe = ChestRecipe(n_images, drawn_by, seed, grid_mm, files)
    return write_study(recipe, folder, format=format, workers=workers)


def picture_cohort(
    folder: str | Path,
    *,
    n_images: int,
    n_readers: int | None = None,
    seed: int = 0,
    law: PictureDistribution | None = None,
    workers: int = 1,
) -> Path:
    """Write a cohort of field phantoms with simulated readers as a study folder; see `cohort`.

    Parameters
    ----------
    folder, n_images, seed, workers
        As in `cohort`.
    n_readers : int, optional
        Readers, all of whom read every picture; every second one draws rings around clusters. 4 if neither they nor
        a law are given.
    law : PictureDistribution, optional
        What is drawn, with its readers.
    """
    if n_images < 1 or seed < 0:
        raise InvalidInputError("a cohort needs n_images >= 1 and seed >= 0")
    if law is not None and n_readers is not None:
        raise UsageError(LAW_AND_MORE)
    if law is None:
        law = PictureDistribution(readers=field_readers(4 if n_readers is None else n_readers))
    return write_study(PictureRecipe(n_images, law, seed), folder, format="png", workers=workers)


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
    name : str
        ``"nih-240x3"``, which needs its backgrounds, or ``"phantom-1978"``.
    folder, format, workers
        As in `cohort`.
    backgrounds, images_csv : str or Path, optional
        Folder of the NIH's images, and the table with their spacing and patients.
    """
    if name not in BENCHMARKS:
        raise UsageError(f"there is no benchmark {name!r}; there are {', '.join(sorted(BENCHMARKS))}")
    recipe = FrozenRecipe(name)
    if name == "nih-240x3":
        if backgrounds is None or images_csv is None:
            raise UsageError(f"{name} needs the folder of its backgrounds and their table of spacings")
        recipe = FrozenRecipe(name, Path(backgrounds), Path(images_csv))
    return write_study(recipe, folder, format=format, workers=workers)


# Chosen on seed 0 among the laws that docs/explanation/simulate.md lists: nodules faint enough that the curve rises,
# placed where the lungs of phantoms are found, which they are not under thick breasts.
DEMO_LAW = CaseDistribution(
    nodules=NoduleDistribution(
        counts=(0.12, 0.1, 0.18, 0.25, 0.2, 0.15), conspicuity=(0.9, 3.0), depth_mm=15.0
    ),
    readers=ReaderModel(
        reader_panel(8, thresholds=(-0.25, 0.25), splits=(0.0, 0.1)),
        readings={5: 0.5, 6: 0.5},
        conspicuity_half=1.4,
        size_slope=1.0,
        bone_slope=1.0,
        distractor_level=-1.8,
        distractor_spread=0.3,
    ),
    distractors=1.2,
    thickest_breast_mm=20.0,
)


@dataclass(frozen=True)
class CohortKind:
    """What a kind of simulated cohort offers."""

    # Writes it; takes a folder, n_images, n_readers, seed, workers and the options of `overread simulate` that are
    # not in ``without``.
    write: Callable[..., Path]
    layout: FolderLayout  # Tables and settings of the folder
    # Size of the demo, and what else `write` gets for it.
    demo_images: int
    demo_options: Mapping[str, Any] = field(default_factory=dict)
    # Side of a pixel that the demo's files do not state; None where lengths are pixels.
    mm_per_px: float | None = None
    # Options of `overread simulate` that mean nothing here, and why.
    without: tuple[str, ...] = ()
    reason: str = ""


KINDS = {
    "chest": CohortKind(
        cohort,
        CHEST_LAYOUT,
        demo_images=120,
        demo_options={"law": DEMO_LAW, "format": "png"},
        mm_per_px=GRID_MM,
    ),
    "field": CohortKind(
        picture_cohort,
        FIELD_LAYOUT,
        demo_images=60,
        without=("benchmark", "nodules", "backgrounds", "images_csv", "grid_mm", "format"),
        reason="fields are drawn, as PNG without a scale",
    ),
}
"""Kinds of simulated cohorts by name."""
