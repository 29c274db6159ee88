"""Write a cohort as a study folder: in parallel, so that it can be stopped and taken up again.

The folder's ``known/journal.jsonl`` gets a line an image, in their order, once its files are on the device. A run
that takes up a folder keeps every image whose line is there, is what its checksum says, and whose files (image, mask,
anatomy) still have the hashes of the line. The tables are written from the journal, line by line, at the end. So
memory does not grow with the cohort, and the bytes depend on the recipe alone.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2

from overread import __version__
from overread.errors import InvalidInputError, OverreadError
from overread.files.atomic import write_atomically
from overread.files.digests import digest_of_file
from overread.files.journal import Journal
from overread.files.lock import folder_lock
from overread.files.regular import read_regular
from overread.files.study_layout import SIMULATION_FILE
from overread.progress import count_steps
from overread.safe_path import start_children_safely
from overread.simulate.folder_tables import entry_line, read_entry, write_tables
from overread.simulate.recipes import Format, Recipe

__all__ = ["write_study"]

JOURNAL = "known/journal.jsonl"
# Images under way for each worker: enough that none waits, few enough that memory does not grow with the cohort.
WAITING_PER_WORKER = 4


@dataclass(frozen=True)
class Job:
    """What a worker needs."""

    recipe: Recipe
    folder: Path
    format: Format


def write_study(
    recipe: Recipe,
    folder: str | Path,
    *,
    format: Format = "dicom",
    workers: int = 1,
) -> Path:
    """Write all images, tables and what is known of them.

    Parameters
    ----------
    recipe
        What makes the images.
    folder
        A new folder, or one that the same recipe began.
    format
        Files of the images.
    workers
        Processes; the result does not depend on it.

    Raises
    ------
    InvalidInputError
        If the folder holds something else.
    LockedError
        If another run is writing to it.
    """
    if format not in ("dicom", "png") or workers < 1:
        raise InvalidInputError("a study needs the format dicom or png, and at least one worker")
    target = Path(folder)
    settings = {"overread": __version__, "format": format, "recipe": recipe.settings()}
    prepare(target, json.dumps(settings, indent=1, sort_keys=True, default=str) + "\n")
    journal = Journal(target / JOURNAL)
    with folder_lock(target, "known/.lock", "another run is writing to it"):
        n_kept, length = count_good_lines(target, journal, recipe.n_images)
        with journal.open(kept=length):
            job = Job(recipe, target, format)
            lines = make_lines(job, n_kept, workers)
            for line in count_steps("simulating: images", lines, recipe.n_images - n_kept):
                journal.append(line)
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
    elif folder.exists() and any(is_foreign(path) for path in folder.rglob("*")):
        raise InvalidInputError(f"{folder}: is not empty and holds no simulated study; give another folder")
    for name in ("images", "known/masks", "known/anatomy"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_atomically(file, settings.encode())


def is_foreign(path: Path) -> bool:
    """Whether a path is neither a folder nor what a run leaves that is killed before it wrote anything."""
    return not path.is_dir() and not (path.name.startswith(".overread-") and path.name.endswith(".part"))


def count_good_lines(folder: Path, journal: Journal, n_images: int) -> tuple[int, int]:
    """Count the journal's lines, and their bytes, up to one that is cut or whose image is not what it was."""
    n, length = 0, 0
    for line in journal.lines():
        entry = read_entry(line)
        if n == n_images or entry is None or not image_is_good(folder, entry):
            break
        n, length = n + 1, length + len(line) + 1
    return n, length


def image_is_good(folder: Path, entry: dict[str, Any]) -> bool:
    """Whether all files of a line are there with the bytes they were written with."""
    return all(
        (folder / path).is_file() and digest_of_file(folder / path) == sha256
        for path, sha256 in entry["files"].items()
    )


def make_lines(job: Job, start: int, workers: int) -> Iterator[bytes]:
    """Lines of the images from ``start`` on, in order, a bounded number of them under way."""
    if workers == 1:
        yield from (write_image(job, number) for number in range(start, job.recipe.n_images))
        return
    context = get_context("spawn")
    with (
        start_children_safely(),
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=cv2.setNumThreads, initargs=(1,)
        ) as pool,
    ):
        under_way: deque[Future[bytes]] = deque()
        numbers = iter(range(start, job.recipe.n_images))
        try:
            for number in numbers:
                under_way.append(pool.submit(write_image, job, number))
                if len(under_way) >= WAITING_PER_WORKER * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool:
            raise OverreadError(
                f"{job.folder}: a worker died (memory?); run the same command again"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def write_image(job: Job, number: int) -> bytes:
    """Make and write one image; its line of the journal, with all that the tables need."""
    made = job.recipe.make(number)
    written = made.write_files(job.folder, job.format)
    files = {name: digest_of_file(job.folder / name) for name in written}
    return entry_line({**made.entry(), "path": written[0], "files": files})
