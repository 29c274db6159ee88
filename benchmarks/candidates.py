"""Seconds and memory of lung fields, anatomy and candidates on a radiograph of the usual size."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import cv2

from benchmarks.rows import Row
from overread.domains import find_anatomy, find_candidates, find_lungs, list_finders
from overread.images import Radiograph, from_array
from overread.simulate import phantom

TARGET = "target 0.15 s for lungs + candidates"


def run(*, quick: bool) -> Iterator[Row]:
    cv2.setNumThreads(1)
    images = [
        from_array(image.pixels, image.mm_per_px)
        for image in (phantom(seed=seed) for seed in range(2 if quick else 6))
    ]
    repeats = 3 if quick else 7
    rows, columns = images[0].shape
    size = f"{rows} x {columns} at {images[0].mm_per_px} mm"
    yield Row(f"lung fields, {size}", seconds(find_lungs, images, repeats), None, None, "s")
    for finder in list_finders("chest"):
        work = partial(find_candidates, finder=finder, limit=100)
        what = f"lung fields + 100 candidates of {finder}, {size}"
        yield Row(what, seconds(work, images, repeats), None, None, "s", TARGET)
    yield Row(f"whole anatomy, {size}", seconds(find_anatomy, images, repeats), None, None, "s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Row("peak memory of the process, phantom included", peak, None, None, "MB")


def seconds(work: Callable[[Radiograph], object], images: list[Radiograph], repeats: int) -> float:
    """Median processor time of an image, after one run that compiles."""
    work(images[0])
    times = []
    for image in images * repeats:
        start = time.process_time()
        work(image)
        times.append(time.process_time() - start)
    return median(times)
