"""Features: time per candidate and core by family, growth with candidates, radius and image, memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from statistics import median

import cv2
import numpy as np
import pandas as pd
from scipy import ndimage

from benchmarks.rows import Row, compare
from overread.features import CATALOGUE, Anatomy, extract_features
from overread.images import Radiograph, from_array

MM = 0.7
SHAPE = (600, 560)
N_CANDIDATES = 80


def run(*, quick: bool) -> Iterator[Row]:
    cv2.setNumThreads(1)
    repeats = 3 if quick else 7
    image, anatomy = chest(SHAPE)
    candidates = places(N_CANDIDATES, SHAPE)
    extract_features(image, candidates[:4], anatomy, n_threads=1)

    def measured(names: list[str], table: pd.DataFrame = candidates) -> float:
        """Time per candidate in ms, the image's maps and the outlines included."""
        seconds = timed(lambda: extract_features(image, table, anatomy, features=names, n_threads=1), repeats)
        return 1e3 * seconds / len(table)

    everything = list(CATALOGUE)
    yield row(f"all {len(CATALOGUE)}", measured(everything), "target 1.5 ms")
    for kind, target in (("specific", "target 0.7 ms"), ("texture", "")):
        yield row(
            f"{kind}, {len(CATALOGUE.kind(kind))}", measured([f.name for f in CATALOGUE.kind(kind)]), target
        )
    for family in CATALOGUE.families:
        members = CATALOGUE.family(family)
        yield row(
            f"{family}, {len(members)}",
            measured([f.name for f in members]),
            "family alone, outlines included",
        )
    specific = [feature.name for feature in CATALOGUE.kind("specific")]
    for n in (10, 40) if quick else (10, 40, 160, 320):
        yield row(
            f"specific, {len(specific)}",
            measured(specific, places(n, SHAPE)),
            "growth",
            what=f"{n} candidates",
        )
    for radius in (3.0, 8.0, 20.0, 40.0):
        table = candidates.assign(radius_mm=radius)
        yield row(
            f"specific, {len(specific)}", measured(specific, table), "growth", what=f"radius {radius:g} mm"
        )
    yield memory(image, anatomy, candidates, specific)


def row(which: str, milliseconds: float, note: str, what: str = f"{N_CANDIDATES} candidates") -> Row:
    where = f"{SHAPE[0]} x {SHAPE[1]} pixels of {MM} mm"
    return compare(f"features ({which}), {what}, {where}", milliseconds, None, "ms per candidate", note)


def memory(image: Radiograph, anatomy: Anatomy, candidates: pd.DataFrame, names: list[str]) -> Row:
    tracemalloc.start()
    extract_features(image, candidates, anatomy, features=names, n_threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return compare(
        f"peak memory, specific features of {len(candidates)} candidates", peak / 1e6, None, "MB", "traced"
    )


def chest(shape: tuple[int, int]) -> tuple[Radiograph, Anatomy]:
    """Noise with a radiograph's power law between two lungs; its grey levels stand for no patient's."""
    random = np.random.default_rng(0)
    rows, columns = np.indices(shape)
    x, y = columns / shape[1], rows / shape[0]
    frequency = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1]))
    spectrum = np.fft.rfft2(random.standard_normal(shape)) / np.maximum(frequency, 1 / max(shape)) ** 1.6
    texture = np.fft.irfft2(spectrum, shape)
    left = ((x - 0.3) / 0.17) ** 2 + ((y - 0.46) / 0.36) ** 2 < 1
    right = ((x - 0.7) / 0.17) ** 2 + ((y - 0.46) / 0.36) ** 2 < 1
    air = ndimage.gaussian_filter((left | right).astype(float), 8)
    pixels = texture / texture.std() * 0.05 + 1 - 0.6 * air
    ribs = (np.sin(rows / 8.0 + columns / 30.0) > 0.5).astype(np.float32)
    anatomy = Anatomy(
        left_lung=left,
        right_lung=right,
        thorax=((x - 0.5) / 0.45) ** 2 + ((y - 0.46) / 0.42) ** 2 < 1,
        mediastinum=(np.abs(x - 0.5) < 0.1) & (y < 0.9),
        ribs=ribs,
        rib_direction_deg=np.full(shape, 165.0, dtype=np.float32),
        clavicles=np.abs(y - 0.13) < 0.01,
        quality={},
    )
    return from_array(pixels, MM, grid_mm=MM), anatomy


def places(n: int, shape: tuple[int, int]) -> pd.DataFrame:
    random = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "x_mm": random.uniform(40, shape[1] * MM - 40, n),
            "y_mm": random.uniform(40, shape[0] * MM - 40, n),
            "radius_mm": np.exp(random.uniform(np.log(3), np.log(15), n)),
        }
    )


def timed(work: Callable[[], object], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return median(found)
