"""A detector that needs no time: what it finds follows from the pixels, and it counts what it is asked."""

from pathlib import Path

import numpy as np
import pandas as pd

from overread.domains import ChestDomain
from overread.images import Radiograph, read_image, write_dicom
from overread.study import DetectionPipeline, OperatingPoint, PipelineSpec, Request


class StandInDetector:
    """Two candidates in each image, the first above the threshold."""

    name = "Stand-in"
    grid_mm = 0.7
    unit = "mm"
    domain = ChestDomain()

    def __init__(self) -> None:
        self.n_asked = 0

    def to_bytes(self) -> bytes:
        return b"stand-in"

    def operating_point(self, fp: float | None) -> OperatingPoint:
        """Know every operating point; 0.5 false positives per image is its own."""
        return OperatingPoint(0.5 if fp is None else fp, 0.0)

    def read_image(
        self, path: Path, *, mm_per_px: tuple[float, float] | None = None, masks: Path | None = None
    ) -> Radiograph:
        return read_image(path, mm_per_px=mm_per_px, grid_mm=self.grid_mm)

    def was_trained_on(self, radiograph: Radiograph) -> None:
        """Know nothing of its images."""

    def detect(self, radiograph: Radiograph, n_threads: int | None = None) -> pd.DataFrame:
        self.n_asked += 1
        mean = float(np.asarray(radiograph.pixels).mean())
        return pd.DataFrame(
            {
                "candidate_id": ["0001", "0002"],
                "x_mm": [10.0 + mean % 1, 20.0],
                "y_mm": [12.0, 24.0],
                "radius_mm": [3.0, 1 / 3],
                "score": [1.0, -1.0],
                "probability": [0.75, np.nan],
                "rank": [1, 2],
            }
        )

    def shown(self, detections: pd.DataFrame, fp: float) -> np.ndarray:
        return np.asarray(detections["score"] >= 2 - 2 * fp)


def load_pipeline() -> DetectionPipeline:
    """Build the stand-in in a worker process."""
    return DetectionPipeline(Request(StandInDetector(), 1.0, documents=True))


def stand_in_spec(_pipeline: object) -> PipelineSpec:
    """Tell a worker process to work with the stand-in, whose bytes are no detector."""
    return PipelineSpec("stand_in_detector:load_pipeline", {})


def write_images(folder: Path, count: int, *, side: int = 64, study: str = "") -> list[Path]:
    """Write small DICOM images of noise, which no two are equal."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        pixels = np.random.default_rng(number).integers(0, 4000, (side, side)).astype(np.uint16)
        path = folder / f"{study}i{number:04}.dcm"
        paths.append(write_dicom(path, pixels, 0.7, patient_id=f"P{number}", image_id=f"{study}i{number:04}"))
    return paths
