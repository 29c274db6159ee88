"""Time and memory of a phantom."""

from __future__ import annotations

import time
import tracemalloc
from statistics import median

from benchmarks.rows import Row, compare
from overread.simulate import phantom

TARGET = "target 0.5 s on one core"


def run(*, quick: bool) -> list[Row]:
    phantom(seed=0, mm_per_px=2.0)
    repeats = 3 if quick else 9
    rows = []
    for side_px in (512, 610, 800):
        side_mm = 427.0
        mm_per_px = side_mm / side_px
        times = [timed(seed, mm_per_px, side_mm) for seed in range(1, repeats + 1)]
        what = f"phantom of {side_px} x {side_px} px with all masks"
        rows.append(
            compare(what, median(times), None, "s", f"slowest of {repeats}: {max(times):.2f} s; {TARGET}")
        )
    rows.append(
        compare("the same at 800 px: most memory at once", peak_mb(427.0 / 800), None, "MB", "tracemalloc")
    )
    return rows


def timed(seed: int, mm_per_px: float, side_mm: float) -> float:
    start = time.process_time()
    phantom(seed=seed, mm_per_px=mm_per_px, width_mm=side_mm, height_mm=side_mm)
    return time.process_time() - start


def peak_mb(mm_per_px: float) -> float:
    tracemalloc.start()
    phantom(seed=1, mm_per_px=mm_per_px, width_mm=427, height_mm=427)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6
