"""`overread simulate`: a study folder with known nodules or lesions and simulated readers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from overread._commands import (
    Flag,
    OutputPath,
    at_least_one,
    check_seed,
    emit,
    option_name,
    print_counts,
)
from overread._terminal import print_line
from overread._text import shell_word
from overread.errors import UsageError

# Options that say nothing for a study of fields, or for a frozen benchmark: what they may be, and the reason.
WITHOUT: dict[str, tuple[dict[str, tuple[Any, ...]], str]] = {
    "field": (
        {
            "benchmark": (None,),
            "nodules": ("plain",),
            "backgrounds": (None,),
            "images_csv": (None,),
            "grid_mm": (0.7,),
            "format": (None, "png"),
        },
        "--kind field: fields are drawn, as PNG without a scale",
    ),
    "benchmark": (
        {"n_images": (None,), "readers": (None,), "nodules": ("plain",), "grid_mm": (0.7,), "seed": (0,)},
        "--benchmark: a frozen benchmark has its own images, nodules, readers, grid and seed",
    ),
}


def simulate(
    output: OutputPath,
    *,
    kind: Literal["chest", "field"] = "chest",
    n_images: int | None = None,
    readers: int | None = None,
    nodules: Literal["plain", "varied"] = "plain",
    backgrounds: Path | None = None,
    images_csv: Path | None = None,
    benchmark: str | None = None,
    format: Literal["dicom", "png"] | None = None,
    grid_mm: float = 0.7,
    seed: int = 0,
    workers: int = 1,
    json: Flag = False,
) -> None:
    """Write a study folder with known nodules and simulated readers: images, tables, and the truth in known/.

    Example: overread simulate my_study --kind field --n-images 60

    The same seed gives the same bytes, whatever the number of workers. A run that was stopped goes on where it was
    when the same command is given again.

    Parameters
    ----------
    output
        A new folder, or one that the same command began.
    kind
        chest: radiographs with nodules. field: round colour pictures with vessels and bright and dark lesions.
    n_images
        Number of images; 100 if not given.
    readers
        Number of readers: 8 if not given, and each chest is read by 4 to 6 of them; 4 for fields, which all read.
    nodules
        varied: also spiculated, sub-solid, calcified, pleural and retrocardiac ones.
    backgrounds
        Folder of real radiographs to put nodules in, instead of phantoms.
    images_csv
        Table of the backgrounds: path or file, mm_per_px_x and mm_per_px_y, patient_id.
    benchmark
        Frozen cohort to write: phantom-1978, or nih-240x3 with --backgrounds and --images-csv.
    format
        Files of the images: dicom if not given; fields are png.
    grid_mm
        Side of a pixel of a chest.
    seed
        Seed of everything random.
    workers
        Processes at work.
    json
        Print JSON instead of a table.
    """
    given = locals()
    from overread import simulate as simulation
    from overread._terminal import ProgressBar

    at_least_one(workers=workers, readers=readers, n_images=n_images)
    check_seed(seed)
    _refuse_without_effect(kind, given)
    if benchmark is not None:
        _refuse_without_effect("benchmark", given)
    where: dict[str, Any] = {"backgrounds": backgrounds, "images_csv": images_csv}
    how: dict[str, Any] = {"format": format or "dicom", "workers": workers}
    cohorts = {
        "chest": partial(
            simulation.cohort, n_readers=readers or 8, nodules=nodules, grid_mm=grid_mm, **where, **how
        ),
        "field": partial(simulation.picture_cohort, n_readers=readers or 4, workers=workers),
    }
    with ProgressBar():
        if benchmark is not None:
            simulation.benchmark(benchmark, output, **where, **how)
        else:
            cohorts[kind](output, n_images=n_images or 100, seed=seed)
    counts = _count_study(output) | ({} if benchmark is None else _compare_with_manifest(output, benchmark))
    emit({"folder": str(output), **counts}, lambda _: print_counts(counts), as_json=json)
    if not json:
        print_line(f"Wrote {output}. Next: overread run {shell_word(output)}")


def _refuse_without_effect(rule: str, given: dict[str, Any]) -> None:
    allowed, reason = WITHOUT.get(rule, ({}, ""))
    for name, values in allowed.items():
        if given[name] not in values:
            raise UsageError(f"{option_name(name)} does not go with {reason}")


def _count_study(folder: Path) -> dict[str, float]:
    """Count what is in a study folder, marks merged."""
    import pandas as pd

    from overread._commands import print_warnings
    from overread.tables import read_table
    from overread.truth import merge_marks

    marks, readings = (read_table(folder / f"{name}.csv", name) for name in ("marks", "readings"))
    with print_warnings():
        truth = merge_marks(marks, readings)
    known = next(name for name in ("lesions", "nodules") if (folder / "known" / f"{name}.csv").is_file())
    return {
        "images": int(readings["image_id"].nunique()),
        "readers": int(readings["reader_id"].nunique()),
        "readings": len(readings),
        known: len(pd.read_csv(folder / "known" / f"{known}.csv", usecols=["nodule_id"])),
        "marks": len(marks),
        "marked_images": int(marks["image_id"].nunique()),
        "golden": int(truth["golden"].sum()),
    }


def _compare_with_manifest(folder: Path, benchmark: str) -> dict[str, float]:
    """How the folder's images agree with the benchmark's manifest."""
    from overread.simulate import compare_folder

    found = compare_folder(benchmark, folder)
    return {
        "images_in_the_manifest": len(found),
        "images_that_differ_from_it": sum(not image.same for image in found),
        "largest_difference_of_65535_levels": max((image.largest_difference for image in found), default=0.0),
    }
