"""A detector on many images: what was done is not done again, and a bad image costs no other."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import pandas as pd

from overread import __version__
from overread._terminal import count_steps
from overread.domains import DomainImage, ImageTask, find_mask
from overread.errors import InvalidInputError, StorageError
from overread.files import (
    Journal,
    digest_of_bytes,
    digest_of_file,
    digest_of_value,
    to_json,
    write_atomically,
)
from overread.marks import ELLIPSE_COLUMNS
from overread.study._detector import Detector
from overread.study._documents import ImageReport
from overread.study._image_jobs import work_twice
from overread.study._pipeline import PipelineSpec
from overread.study.executors._executors import ProcessExecutor, count_processors
from overread.study.executors._worker import (
    Fault,
    Outcome,
    WorkLimits,
    encode_frame,
    read_frame,
    work_on,
)
from overread.tables import name_lengths, plain, unit_of

# Of what is found: one more than before begins a journal again.
LAYOUT = 3
ROW_TYPES = {
    "candidate_id": "str",
    **dict.fromkeys(("x", "y", "radius", "score", "probability"), "float64"),
    "rank": "int64",
    "shown": "bool",
}


@dataclass(frozen=True, eq=False)
class Request:
    """A request to a detector at an operating point of ``fp`` false positives per image.

    ``documents`` prepares DICOM documents, ``masks`` is the folder of a region's masks, ``n_threads`` work on one image
    (None: as many as there are processors).
    """

    detector: Detector
    fp: float
    all_candidates: bool = False
    documents: bool = False
    masks: Path | None = None
    n_threads: int | None = None

    def digest(self) -> str:
        """Digest of all that the results depend on besides the images and their masks."""
        asked = [__version__, LAYOUT, self.fp, self.all_candidates, self.documents]
        return digest_of_value([digest_of_bytes(self.detector.to_bytes()), *asked])

    def make_task(self, path: Path, mm_per_px: tuple[float, float] | None) -> ImageTask:
        """Task of one image; without a key where a file cannot be read, of which its reader will say why."""
        masks = self.masks if self.detector.domain.needs_masks else None
        try:
            digest = digest_of_file(path)
            mask = [] if masks is None else [digest_of_file(find_mask(masks, path))]
        except (InvalidInputError, StorageError):
            return ImageTask(str(path), str(path), mm_per_px)
        key = digest_of_value([str(path), digest, mm_per_px, *mask])
        return ImageTask(str(path), str(path), mm_per_px, sha256=digest, candidates_key=key)


def detect_image(
    request: Request, path: Path, mm_per_px: tuple[float, float] | None
) -> tuple[DomainImage, pd.DataFrame, ImageReport | None]:
    """Return the image, its candidates with a column ``shown``, and its part of a requested document."""
    model = request.detector
    radiograph = model.read_image(path, mm_per_px=mm_per_px, masks=request.masks)
    candidates, _ = plain(model.detect(radiograph, n_threads=request.n_threads))
    candidates["shown"] = model.shown(candidates, request.fp)
    shown = candidates[candidates["shown"]]
    border, label = model.domain.document_border(radiograph), model.domain.target
    report = (
        ImageReport.of(path, radiograph, shown, unit=model.unit, label=label, border=border)
        if request.documents
        else None
    )
    return radiograph, candidates, report


class DetectionPipeline:
    """A request as a pipeline, whose bytes `read_work` reads; it may draw images with their detections."""

    def __init__(self, request: Request, *, draw: bool = False) -> None:
        self._request, self._draw = request, draw

    @classmethod
    def load(cls, *, detector: str, draw: bool, masks: str | None, **asked: Any) -> DetectionPipeline:
        """Build the pipeline from the plain values of `spec`."""
        request = Request(
            Detector.from_bytes(detector.encode(), "detector"),
            masks=None if masks is None else Path(masks),
            **asked,
        )
        return cls(request, draw=draw)

    def spec(self) -> PipelineSpec:
        """Plain values with which a worker process builds the same; it works in one thread."""
        asked = self._request
        return PipelineSpec(
            f"{__name__}:load_pipeline",
            {
                "detector": asked.detector.to_bytes().decode(),
                "fp": asked.fp,
                "all_candidates": asked.all_candidates,
                "documents": asked.documents,
                "masks": None if asked.masks is None else str(asked.masks.resolve()),
                "n_threads": 1,
                "draw": self._draw,
            },
        )

    def __call__(self, task: ImageTask) -> bytes:
        """Look at one image."""
        request = self._request
        radiograph, candidates, report = detect_image(request, Path(task.path), task.mm_per_px)
        rows = candidates if request.all_candidates else candidates[candidates["shown"]]
        found = {
            "rows": to_json(rows[list(ROW_TYPES)]),
            "report": to_json(report),
            "in_training": request.detector.was_trained_on(radiograph),
        }
        return encode_frame(
            found, _draw_picture(request.detector, radiograph, candidates) if self._draw else b""
        )


# A factory is found by one name in its module.
load_pipeline = DetectionPipeline.load


ImageRecord: TypeAlias = dict[str, Any]
"""What the journal keeps of an image: rows, report, in_training, and the digest of its picture (None: not drawn)."""


def read_work(work: bytes) -> tuple[ImageRecord, bytes]:
    """Read the detections of an image, and its PNG picture (empty if not requested)."""
    frame = read_frame(io.BytesIO(work).read)
    assert frame is not None, "whole bytes of a pipeline"
    found, picture = frame
    return found | {"picture": digest_of_bytes(picture) if picture else None}, picture


def _draw_picture(detector: Detector, radiograph: DomainImage, candidates: pd.DataFrame) -> bytes:
    """Draw an image with its detections, as a PNG file."""
    from overread._plots import encode_figure
    from overread.report import detections_figure

    return encode_figure(detections_figure(radiograph, candidates, unit=detector.unit), "png")


MARK_TYPES = {
    "image_id": "str",
    "mark_id": "str",
    **dict.fromkeys((*ELLIPSE_COLUMNS, "confidence"), "float64"),
    "rank": "int64",
    "label": "str",
}
LOCK_FILE = ".detections.lock"
IS_HELD = "another detection writes here (process {holder}); wait for it, or choose another folder"
# What may be the machine's fault: such images are tried again, alone.
PASSING = ("death", "timeout", "memory")
# Measured: a process starts in 3.5 s of processor time, a phantom takes 0.22 s; two are sooner done from 32 images on.
FEWEST_FOR_WORKERS = 32


@dataclass(frozen=True, eq=False)
class FoundMarks:
    """Rows of the table and part of a document of one image; whether it was trained on (None: unknown)."""

    path: Path
    rows: pd.DataFrame
    report: ImageReport | None
    in_training: bool | None


def choose_workers(given: int | None, n_images: int) -> int:
    """Choose the number of processes: as given, else one per processor if there are enough images."""
    if given is not None:
        return given
    return count_processors() if n_images >= FEWEST_FOR_WORKERS else 1


class Batch:
    """Images for a detector; a journal stores the results, so an interrupted request continues.

    ``pictures`` are files to draw images with their detections to; with one worker this process works. ``bad`` has the
    reasons by image that could not be used, ``seconds`` is the time of the images done now.
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

    def run(self, images: Iterable[tuple[Path, tuple[float, float] | None]]) -> list[FoundMarks]:
        """Results of each image that can be used, in the order of the images; ``bad`` names the others."""
        files = dict(images)
        records: dict[Path, ImageRecord] = {}
        faults: dict[Path, Fault] = {}
        with Journal(self._journal, self._request.digest(), lock=(LOCK_FILE, IS_HELD)) as journal:
            known, tasks = dict(journal.entries()), {}
            for path, mm_per_px in files.items():
                task = self._request.make_task(path, mm_per_px)
                record = self._recall(known, task)
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
        self.bad |= {path: _tell_fault(path, faults[path]) for path in files if path in faults}
        return [found_of(path, records[path]) for path in files if path in records]

    def _recall(self, known: Mapping[str, ImageRecord], task: ImageTask) -> ImageRecord | None:
        record = known.get(task.candidates_key)
        picture = self._pictures.get(Path(task.path))
        if record is None:
            return None
        # Another picture may lie there under its name, or none.
        if picture and (not picture.is_file() or record["picture"] != digest_of_file(picture)):
            return None
        self.n_resumed += 1
        return record

    def _work(self, tasks: Sequence[ImageTask]) -> Iterator[Outcome]:
        """Outcomes of all images as they come, those that workers failed at after a second try."""
        pipeline = DetectionPipeline(self._request, draw=bool(self._pictures))
        count = min(self._n_workers, len(tasks))
        if count <= 1:
            yield from (work_on(pipeline, task) for task in tasks)
            return
        with closing(ProcessExecutor(pipeline.spec(), WorkLimits(), count)) as executor:
            yield from work_twice(executor, tasks)

    def _keep(self, journal: Journal, task: ImageTask, work: bytes) -> ImageRecord:
        """Write the picture, then the record, so that a record always has all of its results."""
        record, drawn = read_work(work)
        picture = self._pictures.get(Path(task.path))
        if picture is not None:
            write_atomically(picture, drawn)
        if task.candidates_key:
            journal.add(task.candidates_key, record)
        self.n_worked += 1
        return record


def _tell_fault(path: Path, fault: Fault) -> str:
    """Give the reason why an image could not be used."""
    reason = fault.reason.removeprefix("the image: ")
    return f"{path}: {reason}" if fault.kind == "image" else f"{path}: failed: {reason}"


def found_of(path: Path, record: ImageRecord) -> FoundMarks:
    """Rebuild results from a record, new or stored; both give the same bytes."""
    report, document = record["report"], None
    if report is not None:
        marks = pd.DataFrame(report["marks"])
        names = name_lengths(MARK_TYPES, unit_of(marks.columns) or "mm")
        document = ImageReport(
            report["image"], marks.astype(dict(zip(names, MARK_TYPES.values(), strict=True)))
        )
    rows = pd.DataFrame(record["rows"]).astype(ROW_TYPES)
    return FoundMarks(path, rows, document, record["in_training"])
