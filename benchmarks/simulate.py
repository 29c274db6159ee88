"""Simulated cohorts: seconds an image by step, and memory against the size of the cohort."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.fit_readers import simulate_counts
from benchmarks.rows import Row
from overread.images import write_dicom, write_png16
from overread.simulate import phantom
from overread.simulate._backgrounds import phantom_background
from overread.simulate._cases import draw_case, pixels_with_nodules
from overread.simulate._laws import PAPER_LAW

READERS = ["R1", "R3", "R5", "R8"]
# a child process, because the peak of a process never falls
CHILD = """
import sys
from pathlib import Path
from overread.simulate import cohort
cohort(sys.argv[1], n_images=int(sys.argv[2]), grid_mm=1.4)
# not ru_maxrss: it keeps the peak of the process before exec, which is the benchmark itself
print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024)
"""


def run(*, quick: bool) -> list[Row]:
    repeats = 3 if quick else 15
    steps: dict[str, list[float]] = {}
    one_image(0, {})
    for seed in range(1, repeats + 1):
        one_image(seed, steps)
    rows = [
        Row(what, median(seconds), None, None, "s", "0.7 mm, one core") for what, seconds in steps.items()
    ]
    start = time.process_time()
    simulate_counts(PAPER_LAW, 1978, 0)
    rows.append(
        Row(
            "readers of 1,978 images, marks merged, no pixels",
            time.process_time() - start,
            None,
            None,
            "s",
            "",
        )
    )
    sizes = (10, 40, 160) if quick else (25, 100, 400)
    for size in sizes:
        rows.append(
            Row(f"peak memory, cohort of {size} phantoms", peak(size), None, None, "MB", "1.4 mm grid")
        )
    return rows


def one_image(seed: int, steps: dict[str, list[float]]) -> None:
    """Time the steps of one image with two nodules."""

    def timed(what: str, work):
        start = time.process_time()
        result = work()
        steps.setdefault(what, []).append(time.process_time() - start)
        return result

    image = timed("phantom", lambda: phantom(seed=seed))
    background = phantom_background(image)
    random = np.random.default_rng(seed)
    case = timed(
        "draw two nodules, distractors and marks",
        lambda: draw_case(background, READERS, PAPER_LAW, random, n_nodules=2),
    )
    pixels = timed("insert two nodules", lambda: pixels_with_nodules(background, case.nodules))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        timed("write PNG", lambda: write_png16(path / "a.png", pixels))
        timed("write DICOM", lambda: write_dicom(path / "a.dcm", pixels, 0.7, patient_id="p", image_id="i"))


def peak(n_images: int) -> float:
    """Peak memory of a process that writes a cohort."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", CHILD, f"{folder}/s", str(n_images)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
