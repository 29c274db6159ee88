"""What a detector does with one image, here or in a worker process."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from overread import __version__
from overread.detection.documents import ImageReport
from overread.fields import FieldImage
from overread.files.digests import digest_of_bytes, digest_of_value
from overread.files.records import to_json
from overread.images import Radiograph
from overread.study.detector import Detector
from overread.study.pipeline import ImageTask, PipelineSpec
from overread.study.workers.messages import Frame, encode_frame, read_frame

__all__ = ["ROW_TYPES", "DetectionPipeline", "Request", "detect_image", "read_work"]

# Of what is found: one more than before begins a journal anew.
LAYOUT = 2
ROW_TYPES = {
    "candidate_id": "str",
    "x_mm": "float64",
    "y_mm": "float64",
    "radius_mm": "float64",
    "score": "float64",
    "probability": "float64",
    "rank": "int64",
    "shown": "bool",
}


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
    n_threads
        That work on one image; None: as many as there are processors.
    """

    detector: Detector
    fp: float
    all_candidates: bool = False
    documents: bool = False
    masks: Path | None = None
    n_threads: int | None = None

    def digest(self) -> str:
        """Digest of all that the results depend on besides the images."""
        asked: list[Any] = [__version__, LAYOUT, self.fp, self.all_candidates, self.documents]
        if self.masks is not None:
            asked.append(str(self.masks))
        return digest_of_value([digest_of_bytes(self.detector.to_bytes()), *asked])


def detect_image(
    request: Request, path: Path, mm_per_px: tuple[float, float] | None
) -> tuple[Radiograph | FieldImage, pd.DataFrame, ImageReport | None]:
    """Image, all its candidates with a column ``shown``, and its part of a document where one is asked for."""
    model = request.detector
    radiograph = model.read_image(path, mm_per_px=mm_per_px, masks=request.masks)
    candidates = model.detect(radiograph, n_threads=request.n_threads)
    candidates["shown"] = model.shown(candidates, request.fp)
    shown = candidates[candidates["shown"]]
    report = ImageReport.of(path, radiograph, shown, label=model.object_name) if request.documents else None
    return radiograph, candidates, report


class DetectionPipeline:
    """A request as a pipeline, whose bytes `read_work` reads.

    Parameters
    ----------
    request
        What is asked.
    draw
        Whether a picture of the image with its detections is wanted.
    """

    def __init__(self, request: Request, *, draw: bool = False) -> None:
        self._request, self._draw = request, draw

    @classmethod
    def load(cls, *, detector: str, draw: bool, masks: str | None, **asked: Any) -> DetectionPipeline:
        """Build it from plain values, as `spec` tells them."""
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
            Frame(found, draw_picture(request.detector, radiograph, candidates) if self._draw else b"")
        )


# A factory is found by one name in its module.
load_pipeline = DetectionPipeline.load


def read_work(work: bytes) -> tuple[Mapping[str, Any], bytes]:
    """Read what was found in an image, and the PNG file of its picture, empty where none was wanted."""
    frame = read_frame(io.BytesIO(work).read)
    assert frame is not None, "whole bytes of a pipeline"
    return frame.header, frame.body


def draw_picture(detector: Detector, radiograph: Radiograph | FieldImage, candidates: pd.DataFrame) -> bytes:
    """Draw an image with its detections, as a PNG file."""
    from overread.plots import encode_figure
    from overread.report.lengths import UNIT_WORDS
    from overread.report.overlay import detections_figure

    return encode_figure(detections_figure(radiograph, candidates, unit=UNIT_WORDS[detector.unit]), "png")
