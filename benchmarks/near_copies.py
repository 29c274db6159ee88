"""Copies of radiographs under another patient: how many are found, and how many pairs are named that are none.

``python -m benchmarks.near_copies ../shared/data/nih --pictures FOLDER`` takes every image of the tables. Patients
with even numbers bound the threshold: it lies above all pairs of two patients and below the copies to be found. Those
with odd numbers are reported. Every named pair is drawn side by side into FOLDER, to be looked at.
"""

from __future__ import annotations

import argparse
import base64
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
from PIL import Image

from benchmarks.rows import Row, write
from overread.images import decode_sketch, sketch
from overread.study._near_copies import LEAST_LIKENESS, compare_sketches

TABLES = ("images", "normals", "findings", "other_findings", "boxed")
N_COPIED = 50
N_LARGE = 100_000


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nih", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder for the pairs that are named")
    told = parser.parse_args()
    images = list_images(told.nih)
    images["sketch"] = [sketch(read(path)) for path in images["path"]]
    rows = count_named(images, told.pictures)
    for part, name in ((0, "choosing half"), (1, "reported half")):
        rows += find_copies(images[images["patient"] % 2 == part].reset_index(drop=True), name)
    rows.append(time_large())
    write("near_copies", rows, quick=False)
    for row in rows:
        print(f"{row.what}: {row.ours:.4g} {row.unit}; {row.note}")


def list_images(folder: Path) -> pd.DataFrame:
    """List the images once each: one that is in two tables is one file twice, under one patient."""
    tables = [
        pd.read_csv(folder / f"{name}.csv").assign(folder=name)
        for name in TABLES
        if (folder / f"{name}.csv").is_file()
    ]
    found = pd.concat(tables, ignore_index=True)
    return found.assign(path=[folder / row.folder / row.file for row in found.itertuples()])


def read(path: Path) -> Any:
    """Read the grey values of a picture."""
    return np.asarray(Image.open(path).convert("L"), dtype=np.float32)


def count_named(images: pd.DataFrame, pictures: Path | None) -> list[Row]:
    """Count the pairs of different patients that are named as copies."""
    rows = []
    parts = {
        "choosing half": images[images["patient"] % 2 == 0],
        "reported half": images[images["patient"] % 2 == 1],
        "all": images,
    }
    for name, part in parts.items():
        pairs = compare_sketches(part["sketch"].tolist(), part["patient"].tolist())
        highest = measure_highest(part)
        note = f"highest likeness of two patients {highest:.3f}, threshold {LEAST_LIKENESS:g}"
        what = f"pairs of different patients named per 500 images, {len(part)} images of NIH, {name}"
        rows.append(Row(what, 500 * len(pairs) / len(part), None, None, "pairs", note))
        if pictures is not None and name == "all":
            pictures.mkdir(parents=True, exist_ok=True)
            for one, other in pairs:
                draw_pair(part.iloc[one], part.iloc[other], pictures)
    return rows


def measure_highest(part: pd.DataFrame) -> float:
    """Return the highest likeness of images of two patients."""
    waves = np.stack([decode_sketch(text) for text in part["sketch"]])
    waves -= waves.mean(axis=0)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    patients = part["patient"].to_numpy()
    likeness = np.where(patients[:, None] == patients, -1.0, waves @ waves.T)
    return float(likeness.max())


def draw_pair(one: Any, other: Any, folder: Path) -> None:
    """Write two images side by side."""
    small = [cv2.resize(read(row.path), (512, 512), interpolation=cv2.INTER_AREA) for row in (one, other)]
    cv2.imwrite(str(folder / f"{Path(one.file).stem}_{Path(other.file).stem}.png"), np.hstack(small))


def find_copies(images: pd.DataFrame, name: str) -> list[Row]:
    """Count the copies that are found, of some images under a new patient each, among all images."""
    random = np.random.default_rng(0)
    chosen = random.choice(len(images), min(N_COPIED, len(images)), replace=False)
    pixels = [read(images["path"][place]) for place in chosen]
    owners = [*images["patient"].astype(str), *(f"copy {place}" for place in chosen)]
    rows = []
    for what, change in changes(random).items():
        copies = [sketch(np.asarray(change(one), dtype=np.float32)) for one in pixels]
        pairs = set(compare_sketches([*images["sketch"], *copies], owners))
        n_found = sum((place, len(images) + number) in pairs for number, place in enumerate(chosen))
        rows.append(
            Row(
                f"copies found, {what}, {name}",
                100 * n_found / len(chosen),
                None,
                None,
                "%",
                f"{len(chosen)} copies",
            )
        )
    return rows


def changes(random: np.random.Generator) -> dict[str, Callable[[Any], Any]]:
    """Give what may happen to a copy, by name."""

    def flip(pixels: Any) -> Any:
        changed = pixels.astype(np.uint8)
        changed[0, 0] ^= 1
        return changed

    return {
        "one bit flipped": flip,
        "noise of 2 % of the range": lambda pixels: pixels + random.normal(0, 5, pixels.shape),
        "noise of 8 % of the range": lambda pixels: pixels + random.normal(0, 20, pixels.shape),
        "JPEG of quality 75": lambda pixels: compress(pixels, 75),
        "JPEG of quality 20": lambda pixels: compress(pixels, 20),
        "half the size": lambda pixels: resize(pixels, 0.5),
        "0.37 of the size": lambda pixels: resize(pixels, 0.37),
        "1.5 times the size": lambda pixels: resize(pixels, 1.5),
        "gamma 0.7": lambda pixels: 255 * (pixels / 255) ** 0.7,
        "gamma 1.5": lambda pixels: 255 * (pixels / 255) ** 1.5,
        "brighter, white clipped": lambda pixels: np.clip(1.2 * pixels + 20, 0, 255),
        "darker, black clipped": lambda pixels: np.clip(0.7 * pixels - 10, 0, 255),
        "1 % cut off each side": lambda pixels: crop(pixels, 0.01),
        "2 % cut off each side": lambda pixels: crop(pixels, 0.02),
        "5 % cut off each side": lambda pixels: crop(pixels, 0.05),
        "gamma 0.85, noise, 1 % cut off, 0.6 of the size, JPEG of quality 60": lambda pixels: compress(
            resize(crop(255 * (pixels / 255) ** 0.85 + random.normal(0, 4, pixels.shape), 0.01), 0.6), 60
        ),
        "mirrored": lambda pixels: pixels[:, ::-1],
        "inverted": lambda pixels: 255 - pixels,
    }


def to_bytes(pixels: Any) -> Any:
    """Round to 8 bits."""
    return np.clip(np.round(pixels), 0, 255).astype(np.uint8)


def compress(pixels: Any, quality: int) -> Any:
    """Write as JPEG and read again."""
    buffer = io.BytesIO()
    Image.fromarray(to_bytes(pixels)).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def resize(pixels: Any, factor: float) -> Any:
    """Give another size."""
    return cv2.resize(to_bytes(pixels), None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC)


def crop(pixels: Any, share: float) -> Any:
    """Cut a share off each side."""
    rows, columns = (round(share * side) for side in pixels.shape)
    return pixels[rows:-rows, columns:-columns]


def time_large() -> Row:
    """Time the comparison of many images."""
    random = np.random.default_rng(0)
    waves = random.integers(
        -127, 128, (N_LARGE, len(decode_sketch(sketch(random.random((64, 64), np.float32)))))
    )
    texts = [base64.b64encode(one.astype(np.int8).tobytes()).decode() for one in waves]
    start = time.process_time()
    compare_sketches(texts, range(N_LARGE))
    return Row(
        f"comparing {N_LARGE:,} images", time.process_time() - start, None, None, "s", "processor time"
    )


if __name__ == "__main__":
    main()
