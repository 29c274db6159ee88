"""A small study of real PNG files, and a quick pipeline that looks for bright blobs in them.

The module lies on ``sys.path`` (conftest), so that worker processes can import it by name.
"""

import hashlib
import os
import signal
import time
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from overread.domains import ImageTask, ImageWork
from overread.errors import FormatError
from overread.images import read_source
from overread.study import PipelineSpec
from overread.tables import write_table

MM_PER_PX = 2.0
SIDE = 96
FEATURES = ("peak", "mean3", "mean7", "contrast", "noise_a", "noise_b", "noise_c", "x", "y")

FAST = """
name = "stand-in"
seed = 3
[models]
folds = 2
[soft]
normalizations = ["bags", "class"]
n_lambdas = 5
[b1]
prune_bounds = [100.0, 10000.0]
[b2]
prune_bounds = [100.0]
min_positives = 2
n_bootstrap = 20
[evaluation]
fp_targets = [0.5, 2.0]
n_bootstrap = 100
chance_shifts = 3
size_bins = [0.0, 15.0, 1000.0]
headline = "test"
[execution]
executor = "serial"
"""


LIGHT = """
name = "stand-in"
seed = 3
[models]
wanted = ["soft"]
folds = 2
[soft]
normalizations = ["bags"]
n_lambdas = 5
choice_fp_targets = [1.0]
[evaluation]
fp_targets = [1.0]
n_bootstrap = 100
chance_shifts = 1
size_bins = [0.0, 1000.0]
headline = "test"
[execution]
executor = "serial"
"""


def make_study(folder: Path, *, n_images: int = 36, seed: int = 0, settings: str = FAST) -> Path:
    """Write images, readings, marks and settings."""
    random = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    images, readings, marks = [], [], []
    for number in range(n_images):
        image_id = f"case {number:03d}"
        pixels = random.normal(100, 8, (SIDE, SIDE))
        objects = []
        for _ in range(random.integers(1, 4)):
            x, y = random.uniform(15, SIDE - 15, 2)
            radius, strength = random.uniform(2.5, 6), random.uniform(8, 60)
            rows, columns = np.mgrid[:SIDE, :SIDE]
            distance = ((columns + 0.5 - x) ** 2 + (rows + 0.5 - y) ** 2) / radius**2
            pixels += strength * np.exp(-distance)
            objects.append((x, y, radius, strength))
        name = f"images/{number:03d}.png"
        cv2.imwrite(str(folder / name), np.clip(pixels, 0, 255).astype(np.uint8))
        images.append((image_id, f"patient {number // 2}", name, MM_PER_PX, MM_PER_PX))
        for reader in random.permutation(["Smith", "Jones", "Meier", "Weber", "Rossi"])[
            : random.integers(3, 6)
        ]:
            readings.append((image_id, reader))
            for x, y, radius, strength in objects:
                if random.uniform() < strength / 50:
                    jitter = random.normal(0, 0.5, 2)
                    axis = MM_PER_PX * radius * random.uniform(0.9, 1.2)
                    centre = [MM_PER_PX * (place + off) for place, off in zip((x, y), jitter, strict=True)]
                    marks.append((image_id, reader, f"{reader}-{len(marks)}", *centre, axis, 0.9 * axis, 0.0))
    columns = {
        "images": ["image_id", "patient_id", "path", "mm_per_px_x", "mm_per_px_y"],
        "readings": ["image_id", "reader_id"],
        "marks": [
            "image_id",
            "reader_id",
            "mark_id",
            "x_mm",
            "y_mm",
            "semi_major_mm",
            "semi_minor_mm",
            "angle_deg",
        ],
    }
    for kind, rows in {"images": images, "readings": readings, "marks": marks}.items():
        write_table(pd.DataFrame(rows, columns=columns[kind]), folder / f"{kind}.csv")
    (folder / "study.toml").write_text(settings)
    return folder


def spec(**options: object) -> PipelineSpec:
    """Pipeline of this module."""
    return PipelineSpec("study_stand_in:pipeline", options)


def pipeline(**options: object) -> "BlobPipeline":
    """Make the pipeline in a worker."""
    return BlobPipeline(**options)


class BlobPipeline:
    """Local maxima of the blurred image, and nine numbers about each.

    Parameters
    ----------
    limit
        Most candidates.
    calls
        File that gets a line per image and kind of work: ``candidates ID`` and ``features ID``.
    kill, hang, exhaust
        Ids of images that end the worker, never end, or ask for far too much memory.
    seconds
        Time that an image takes at least.
    through_the_gateway
        Open files as the package does, DICOM too.
    names
        Of the features, in place of their own.
    """

    def __init__(
        self,
        limit: int = 12,
        calls: str | None = None,
        kill: tuple[str, ...] = (),
        hang: tuple[str, ...] = (),
        exhaust: tuple[str, ...] = (),
        seconds: float = 0.0,
        candidate_version: str = "c1",
        feature_version: str = "f1",
        through_the_gateway: bool = False,
        names: tuple[str, ...] = FEATURES,
    ) -> None:
        self.names = names
        self.through_the_gateway = through_the_gateway
        self.limit, self.calls, self.seconds = limit, calls, seconds
        self.kill, self.hang, self.exhaust = kill, hang, exhaust
        self.candidate_version = f"{candidate_version}, {limit}"
        self.feature_version = feature_version

    def __call__(self, task: ImageTask) -> ImageWork:
        self.misbehave(task)
        if self.through_the_gateway:
            stored = read_source(task.path).stored
            pixels = (stored >> 8).astype(np.uint8) if stored.dtype.itemsize > 1 else stored
        else:
            pixels = cv2.imread(task.path, cv2.IMREAD_GRAYSCALE)
        if pixels is None:
            raise FormatError(f"{task.path}: is not an image")
        assert task.mm_per_px is not None
        candidates = task.candidates
        if candidates is None:
            self.note("candidates", task.image_id)
            candidates = self.found(pixels, task.mm_per_px[0])
        self.note("features", task.image_id)
        digest = hashlib.sha256(pixels.tobytes()).hexdigest()
        return ImageWork(candidates, self.features(pixels, candidates, task), {"pixel_hash": digest})

    def misbehave(self, task: ImageTask) -> None:
        time.sleep(self.seconds)
        if task.image_id in self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if task.image_id in self.hang:
            time.sleep(10_000)
        if task.image_id in self.exhaust:
            np.ones(1 << 34)

    def note(self, what: str, image_id: str) -> None:
        if self.calls is not None:
            with Path(self.calls).open("a") as file:
                file.write(f"{what} {image_id}\n")

    def found(self, pixels: np.ndarray, mm_per_px: float) -> pd.DataFrame:
        smooth = cv2.GaussianBlur(pixels.astype(np.float32), (0, 0), 2.0)
        peaks = (smooth == cv2.dilate(smooth, np.ones((7, 7)))) & (smooth > smooth.mean())
        rows, columns = np.nonzero(peaks)
        order = np.argsort(-smooth[rows, columns], kind="stable")[: self.limit]
        return pd.DataFrame(
            {
                "candidate_id": [f"c{number}" for number in range(len(order))],
                "x": (columns[order] + 0.5) * mm_per_px,
                "y": (rows[order] + 0.5) * mm_per_px,
                # Larger than the distance of two peaks at times: some candidates lie on a stronger one.
                "radius": 20.0,
                "response": smooth[rows, columns][order].astype(np.float64),
            }
        )

    def features(self, pixels: np.ndarray, candidates: pd.DataFrame, task: ImageTask) -> pd.DataFrame:
        assert task.mm_per_px is not None
        image = pixels.astype(np.float32)
        column = (candidates["x"].to_numpy() / task.mm_per_px[0]).astype(int).clip(0, image.shape[1] - 1)
        row = (candidates["y"].to_numpy() / task.mm_per_px[1]).astype(int).clip(0, image.shape[0] - 1)
        near, wide = cv2.blur(image, (3, 3)), cv2.blur(image, (7, 7))
        seed = int(hashlib.sha256(pixels.tobytes()).hexdigest()[:8], 16)
        noise = np.random.default_rng(seed).normal(size=(3, 1000))[:, : len(candidates)]
        values = (image[row, column], near[row, column], wide[row, column])
        values += (near[row, column] - wide[row, column], *noise, column, row)
        table = {name: np.asarray(value, np.float32) for name, value in zip(self.names, values, strict=True)}
        return pd.DataFrame({"candidate_id": candidates["candidate_id"].to_numpy(), **table})
