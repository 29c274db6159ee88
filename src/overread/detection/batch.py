"""A detector on one image after the other: what was done is not done again, and a bad image costs no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pandas as pd

from overread import __version__
from overread.detection.documents import ImageReport
from overread.detection.journal import DetectionJournal
from overread.errors import LockedError, OverreadError, StorageError
from overread.fields import FieldImage
from overread.files.digests import digest_of_bytes, digest_of_file, digest_of_value
from overread.files.records import to_json
from overread.images import Radiograph

if TYPE_CHECKING:
    from overread.study.detector import Detector

__all__ = ["Batch", "Found", "Request", "detect_image"]

TYPES = {
    "candidate_id": "str",
    "x_mm": "float64",
    "y_mm": "float64",
    "radius_mm": "float64",
    "score": "float64",
    "probability": "float64",
    "rank": "int64",
    "shown": "bool",
}
MARK_TYPES = {
    "image_id": "str",
    "mark_id": "str",
    "x_mm": "float64",
    "y_mm": "float64",
    "semi_major_mm": "float64",
    "semi_minor_mm": "float64",
    "angle_deg": "float64",
    "confidence": "float64",
    "label": "str",
}

Draw = Callable[[Path, Radiograph | FieldImage, pd.DataFrame], None]


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked of a detector.

    Parameters
    ----------
    detector
        At work.
    fp
        Operating point: false positives per image.
    all_candidates
        Keep the candidates below the threshold too.
    documents
        Prepare DICOM documents, which only DICOM images can have.
    masks
        Folder of masks, for a detector whose region comes from masks.
    """

    detector: Detector
    fp: float
    all_candidates: bool = False
    documents: bool = False
    masks: Path | None = None

    def digest(self) -> str:
        """Digest of all that the results depend on besides the images."""
        asked = [__version__, self.fp, self.all_candidates, self.documents]
        if self.masks is not None:
            asked.append(str(self.masks))
        return digest_of_value([digest_of_bytes(self.detector.to_bytes()), *asked])


@dataclass(frozen=True, eq=False)
class Found:
    """Results of one image: the rows of the table, without the image's name, and its part of a document."""

    path: Path
    rows: pd.DataFrame
    report: ImageReport | None


def detect_image(
    request: Request, path: Path, mm_per_px: tuple[float, float] | None
) -> tuple[Radiograph | FieldImage, pd.DataFrame, ImageReport | None]:
    """Image, all its candidates with a column ``shown``, and its part of a document where one is asked for."""
    model = request.detector
    radiograph = model.read_image(path, mm_per_px=mm_per_px, masks=request.masks)
    candidates = model.detect(radiograph)
    candidates["shown"] = model.shown(candidates, request.fp)
    shown = candidates[candidates["shown"]]
    report = ImageReport.of(path, radiograph, shown, label=model.object_name) if request.documents else None
    return radiograph, candidates, report


class Batch:
    """Images that a detector goes through.

    Parameters
    ----------
    request
        What is asked of it.
    journal
        File that remembers what was found; the same request goes on where it was stopped.
    draw, pictures
        Draws an image with all its candidates to its file, and the files by image; none: nothing is drawn.

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
        draw: Draw | None = None,
        pictures: Mapping[Path, Path] | None = None,
    ) -> None:
        self._request = request
        self._draw, self._pictures = draw, pictures or {}
        self._journal = journal
        self.bad: dict[Path, str] = {}
        self.n_worked = self.n_resumed = 0
        self.seconds = 0.0

    def run(self, images: Iterable[tuple[Path, tuple[float, float] | None]]) -> Iterator[Found]:
        """Results of each image that can be used, in order; ``bad`` names the others.

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
        with DetectionJournal(self._journal, self._request.digest()) as journal:
            for path, mm_per_px in images:
                try:
                    record = self._recall(journal, path, mm_per_px) or self._work(journal, path, mm_per_px)
                except (StorageError, LockedError):
                    raise
                except OverreadError as error:
                    self.bad[path] = str(error)
                    continue
                except Exception as error:  # one file that finds a bug of ours must not cost the others
                    self.bad[path] = f"{path}: failed in a way that nobody foresaw: {error!r}"
                    continue
                yield found_of(path, record)

    def _recall(
        self, journal: DetectionJournal, path: Path, mm_per_px: tuple[float, float] | None
    ) -> Mapping[str, Any] | None:
        try:
            record = journal.find(key_of(path, mm_per_px))
        except StorageError:  # a file that cannot be read: who reads it as an image says what is wrong
            return None
        picture = self._pictures.get(path)
        if record is None or (picture is not None and record["picture"] != digest_of_picture(picture)):
            return None
        self.n_resumed += 1
        return record

    def _work(
        self, journal: DetectionJournal, path: Path, mm_per_px: tuple[float, float] | None
    ) -> Mapping[str, Any]:
        start = perf_counter()
        radiograph, candidates, report = detect_image(self._request, path, mm_per_px)
        picture = self._pictures.get(path)
        if self._draw is not None and picture is not None:
            self._draw(picture, radiograph, candidates)
        rows = candidates if self._request.all_candidates else candidates[candidates["shown"]]
        record = {
            "rows": to_json(rows[list(TYPES)]),
            "report": to_json(report),
            "picture": None if picture is None else digest_of_picture(picture),
        }
        journal.add(key_of(path, mm_per_px), record)
        self.n_worked += 1
        self.seconds += perf_counter() - start
        return record


def digest_of_picture(picture: Path) -> str | None:
    """Digest of a drawn image, by which another one under its name is told; None where there is none."""
    return digest_of_file(picture) if picture.is_file() else None


def key_of(path: Path, mm_per_px: tuple[float, float] | None) -> str:
    """Key of an image: where it is, what is in it, and what was said of its size."""
    return digest_of_value([str(path), digest_of_file(path), mm_per_px])


def found_of(path: Path, record: Mapping[str, Any]) -> Found:
    """Results as a record tells them, fresh or remembered, so that both give the same bytes."""
    report = record["report"]
    return Found(
        path,
        pd.DataFrame(record["rows"]).astype(TYPES),
        None
        if report is None
        else ImageReport(report["image"], pd.DataFrame(report["marks"]).astype(MARK_TYPES)),
    )
