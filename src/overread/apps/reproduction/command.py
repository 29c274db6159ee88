"""``overread reproduce``: the paper's experiment at the paper's size, beside the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overread._commands import (
    WITH_BAD_IMAGES,
    OutputPath,
    at_least_one,
    print_plain,
    print_report,
    run_simulated,
)
from overread.errors import UsageError

BENCHMARK = "phantom-1978"
# The paper's number of images (section 6).
N_IMAGES = 1978
# Three parts of 20 images. Chosen by eye.
FEWEST_IMAGES = 60
SETTINGS = """\
# The paper's experiment by the paper's rules.
preset = "paper"
seed = 0

[candidates]
limit = 60

# The baselines look at the 400 features that tell most by themselves; without this B2 alone takes half an hour.
[b1]
screen = 400
prune_bounds = [1e2, 1e4]

[b2]
screen = 400
prune_bounds = [1e2, 1e4]

[models]
folds = 3
"""


def reproduce(
    *,
    output: OutputPath = Path("reproduction"),
    backgrounds: Path | None = None,
    images_csv: Path | None = None,
    images: int | None = None,
    workers: int | None = None,
) -> int:
    """Repeat the paper's experiment on simulated images and set its Table 1 beside the paper's.

    Without options, on the benchmark phantom-1978: as many images as the paper has, and about as many marks.
    Give the same command again to go on after an interruption. Writes reproduction.md into the folder.

    Parameters
    ----------
    output
        Folder of the study.
    backgrounds
        Folder of real radiographs to put the nodules in, instead of phantoms.
    images_csv
        Table of the backgrounds: path or file, mm_per_px_x and mm_per_px_y, patient_id.
    images
        Number of images, for a trial; 1978 if not given.
    workers
        Processes; as many as there are processors if not given.
    """
    from overread import simulate
    from overread._terminal import ProgressBar, begin_work
    from overread.apps.reproduction._page import normalization_rows, reproduction_page
    from overread.files import write_atomically
    from overread.study import count_processors, open_run

    if images is not None and images < FEWEST_IMAGES:
        raise UsageError(
            f"--images {images}: fewer than {FEWEST_IMAGES} images have too few objects to learn from"
        )
    at_least_one(workers=workers)
    if images_csv is not None and backgrounds is None:
        raise UsageError("--images-csv needs the folder of the --backgrounds too")
    n_workers = count_processors() if workers is None else workers
    how: dict[str, Any] = {"format": "png", "workers": n_workers}

    def make() -> Path:
        if backgrounds is None and images is None:
            return simulate.benchmark(BENCHMARK, output, **how)
        return simulate.cohort(
            output,
            n_images=images or N_IMAGES,
            backgrounds=backgrounds,
            images_csv=images_csv,
            **how,
        )

    report = run_simulated(make, SETTINGS, workers=n_workers)
    print_report(report)
    run = open_run(report.folder)
    with ProgressBar(), begin_work("lambda under each normalization", None):
        page = reproduction_page(run, normalization_rows(run))
    target = write_atomically(output / "reproduction.md", page.encode())
    print_plain(f"Beside the paper: {target}")
    return WITH_BAD_IMAGES if report.n_quarantined else 0
