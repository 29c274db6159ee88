"""A detector on many images: what was done is not done again, and a bad image costs no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd

from overread.detection.documents import ImageReport
from overread.detection.journal import DetectionJournal
from overread.detection.pipeline import ROW_TYPES, DetectionPipeline, Request, read_work
from overread.errors import StorageError
from overread.files.atomic import write_atomically
from overread.files.digests import digest_of_bytes, digest_of_file, digest_of_value
from overread.progress import count_steps
from overread.study.pipeline import ImageTask
from overread.study.workers.executors import ProcessExecutor, count_processors
from overread.study.workers.isolation import WorkLimits
from overread.study.workers.result import Fault, Outcome, work_on

__all__ = ["PASSING", "Batch", "Found", "choose_workers", "found_of", "make_task"]

MARK_TYPES = {
    "image_id": "str",
    "mark_id": "str",
    "x_mm": "float64",
    "y_mm": "float64",
    "semi_major_mm": "float64",
    "semi_minor_mm": "float64",
    "angle_deg": "float64",
    "confidence": "float64",
    "rank": "int64",
    "label": "str",
}
# What may be the machine's fault: such images are tried again, alone.
PASSING = ("death", "timeout", "memory")
# Measured: a process starts in 3.5 s of processor time, a phantom takes 0.22 s; two are sooner done from 32 images on.
FEWEST_FOR_WORKERS = 32


@dataclass(frozen=True, eq=False)
class Found:
    """Results of one image.

    Attributes
    ----------
    path
        Its file.
    rows
        Rows of the table, without the image's name.
    report
        Its part of a document; None where none is asked for.
    in_training
        Whether the detector was trained on an image that shows the same; None where it does not know.
    """

    path: Path
    rows: pd.DataFrame
    report: ImageReport | None
    in_training: bool | None


def choose_workers(given: int | None, n_images: int) -> int:
    """Choose the number of processes: as given, else one a processor where there are images enough."""
    if given is not None:
        return given
    return count_processors() if n_images >= FEWEST_FOR_WORKERS else 1


class Batch:
    """Images that a detector goes through.

    Parameters
    ----------
    request
        What is asked of it.
    journal
        File that remembers what was found; the same request goes on where it was stopped.
    pictures
        Files for pictures of the images with their detections, by image; none: nothing is drawn.
    n_workers
        Processes that work; 1: this one.

    Attributes
    ----------
    bad
        Reasons by image that could not be used.
    n_worked, n_resumed
        Images done now, and taken from the journal.
    seconds
        Spent on the images done now.
    """

    def __init__(
        self,
        request: Request,
        journal: Path,
        *,
        pictures: Mapping[Path, Path] | None = None,
        n_workers: int = 1,
    ) -> None:
        self._request = request
        self._pictures = pictures or {}
        self._journal = journal
        self._n_workers = n_workers
        self.bad: dict[Path, str] = {}
        self.n_worked = self.n_resumed = 0
        self.seconds = 0.0

    def run(self, images: Iterable[tuple[Path, tuple[float, float] | None]]) -> list[Found]:
        """Results of each image that can be used, in the order of the images; ``bad`` names the others.

        Parameters
        ----------
        images
            File, and the size of a pixel where the file does not say.

        Raises
        ------
        StorageError
            If results cannot be written: then no image can be done.
        LockedError
            If another process writes the same journal.
        """
        files = dict(images)
        records: dict[Path, Mapping[str, Any]] = {}
        faults: dict[Path, Fault] = {}
        with DetectionJournal(self._journal, self._request.digest()) as journal:
            tasks = {}
            for path, mm_per_px in files.items():
                task = make_task(path, mm_per_px)
                record = self._recall(journal, task)
                if record is None:
                    tasks[task.image_id] = task
                else:
                    records[path] = record
            start = perf_counter()
            outcomes = self._work(list(tasks.values()))
            for outcome in count_steps("detecting: images", outcomes, total=len(tasks)):
                task = tasks[outcome.image_id]
                if outcome.shard is not None:
                    records[Path(task.path)] = self._keep(journal, task, outcome.shard)
                elif outcome.fault is not None:
                    faults[Path(task.path)] = outcome.fault
            self.seconds += perf_counter() - start
        self.bad |= {path: tell_fault(path, faults[path]) for path in files if path in faults}
        return [found_of(path, records[path]) for path in files if path in records]

    def _recall(self, journal: DetectionJournal, task: ImageTask) -> Mapping[str, Any] | None:
        record = None if task.sha256 is None else journal.find(key_of(task))
        picture = self._pictures.get(Path(task.path))
        if record is None or (picture is not None and record["picture"] != digest_of_picture(picture)):
            return None
        self.n_resumed += 1
        return record

    def _work(self, tasks: Sequence[ImageTask]) -> Iterator[Outcome]:
        """Outcomes of all images as they come, those that the machine may be to blame for after a second try."""
        pipeline = DetectionPipeline(self._request, draw=bool(self._pictures))
        count = min(self._n_workers, len(tasks))
        if count <= 1:
            yield from (work_on(pipeline, task) for task in tasks)
            return
        with closing(ProcessExecutor(pipeline.spec(), WorkLimits(), count)) as executor:
            again: set[str] = set()
            for outcome in executor.work(tasks):
                if outcome.fault is not None and outcome.fault.kind in PASSING:
                    again.add(outcome.image_id)
                else:
                    yield outcome
            if again:
                yield from executor.work([task for task in tasks if task.image_id in again], alone=True)

    def _keep(self, journal: DetectionJournal, task: ImageTask, work: bytes) -> Mapping[str, Any]:
        """Write the picture, then the record: one that is there has all of its results."""
        found, drawn = read_work(work)
        picture = self._pictures.get(Path(task.path))
        if picture is not None:
            write_atomically(picture, drawn)
        record = {**found, "picture": None if picture is None else digest_of_bytes(drawn)}
        if task.sha256 is not None:
            journal.add(key_of(task), record)
        self.n_worked += 1
        return record


def make_task(path: Path, mm_per_px: tuple[float, float] | None) -> ImageTask:
    """Task of one image; without a digest where its file cannot be read, of which its reader will say why."""
    try:
        digest = digest_of_file(path)
    except StorageError:
        digest = None
    return ImageTask(str(path), str(path), mm_per_px, sha256=digest)


def tell_fault(path: Path, fault: Fault) -> str:
    """Say why an image could not be used."""
    reason = fault.reason.removeprefix("the image: ")
    return f"{path}: {reason}" if fault.kind == "image" else f"{path}: failed: {reason}"


def digest_of_picture(picture: Path) -> str | None:
    """Digest of a drawn image, by which another one under its name is told; None where there is none."""
    return digest_of_file(picture) if picture.is_file() else None


def key_of(task: ImageTask) -> str:
    """Key of an image: where it is, what is in it, and what was said of its size."""
    return digest_of_value([task.path, task.sha256, task.mm_per_px])


def found_of(path: Path, record: Mapping[str, Any]) -> Found:
    """Results as a record tells them, fresh or remembered, so that both give the same bytes."""
    report = record["report"]
    return Found(
        path,
        pd.DataFrame(record["rows"]).astype(ROW_TYPES),
        None
        if report is None
        else ImageReport(report["image"], pd.DataFrame(report["marks"]).astype(MARK_TYPES)),
        record["in_training"],
    )
