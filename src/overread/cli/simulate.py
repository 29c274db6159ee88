"""`overread simulate`: write a study folder with known lesions and simulated readers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from overread._commands import Flag, OutputPath, at_least_one, check_seed, emit, option_name, print_counts
from overread._terminal import print_line
from overread._text import shell_word
from overread.errors import UsageError

# A frozen benchmark does not allow these.
NOT_FOR_BENCHMARKS = ("n_images", "readers", "nodules", "grid_mm", "seed")
# Options that only some kinds of cohorts allow.
OPTIONS = ("nodules", "backgrounds", "images_csv", "format", "grid_mm")


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
    """Write a study folder with known lesions and simulated readers: images, tables, and the truth in known/.

    Example: overread simulate my_study --kind field --n-images 60

    The same seed gives the same bytes with any number of workers. Run the same command again to continue one
    that was stopped.

    Parameters
    ----------
    output
        New folder, or one from an interrupted run of the same command.
    kind
        chest: radiographs with nodules. field: round colour images with vessels and with bright and dark
        lesions.
    n_images
        Number of images; by default 100.
    readers
        Number of readers; by default 8 for chest, of whom 4 to 6 read each image, and 4 for field, who read
        all images.
    nodules
        plain: round solid nodules. varied: also spiculated, sub-solid, calcified, pleural and retrocardiac
        ones.
    backgrounds
        Folder of real radiographs to put nodules in, instead of phantoms.
    images_csv
        Table of the backgrounds: path or file, mm_per_px_x and mm_per_px_y, patient_id.
    benchmark
        Frozen cohort to write: phantom-1978, or nih-240x3 with --backgrounds and --images-csv.
    format
        Format of the images; by default dicom for chest. Images of kind field are always png.
    grid_mm
        Pixel size of a chest in mm.
    seed
        Random seed.
    workers
        Number of worker processes.
    json
        Print JSON instead of a table.
    """
    given = locals()
    from overread import simulate as simulation
    from overread._terminal import ProgressBar

    at_least_one(workers=workers, readers=readers, n_images=n_images)
    check_seed(seed)
    cohort = simulation.KINDS[kind]
    _refuse_without_effect(cohort.without, f"--kind {kind}: {cohort.reason}", given)
    options = {
        name: given[name] for name in OPTIONS if name not in cohort.without and given[name] is not None
    }
    with ProgressBar():
        if benchmark is None:
            cohort.write(
                output, n_images=n_images or 100, n_readers=readers, seed=seed, workers=workers, **options
            )
        else:
            why = "--benchmark: a frozen benchmark has its own images, nodules, readers, grid and seed"
            _refuse_without_effect(NOT_FOR_BENCHMARKS, why, given)
            simulation.benchmark(
                benchmark,
                output,
                backgrounds=backgrounds,
                images_csv=images_csv,
                format=format or "dicom",
                workers=workers,
            )
    counts = _count_study(output) | ({} if benchmark is None else _compare_with_manifest(output, benchmark))
    emit({"folder": str(output), **counts}, lambda _: print_counts(counts), as_json=json)
    if not json:
        print_line(f"Wrote {output}. Next: overread run {shell_word(output)}")


def _refuse_without_effect(names: Iterable[str], reason: str, given: Mapping[str, Any]) -> None:
    """Refuse options without effect; PNG is allowed for fields, whose images are PNG anyway."""
    defaults = signature(simulate).parameters
    for name in names:
        if given[name] != defaults[name].default and (name, given[name]) != ("format", "png"):
            raise UsageError(f"{option_name(name)} cannot be combined with {reason}")


def _count_study(folder: Path) -> dict[str, float]:
    """Count the contents of a study folder, with merged marks."""
    import pandas as pd

    from overread._commands import print_warnings
    from overread.marks import read_folder
    from overread.study import take_study_marks
    from overread.truth import merge_marks

    with print_warnings():
        found = take_study_marks(folder, read_folder(folder), by_group=False)
        marks, readings = found.tables.marks, found.tables.readings
        truth = merge_marks(marks, readings, options=found.options, unit=found.unit)
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
    """Compare the folder's images with the benchmark's manifest."""
    from overread.simulate import compare_folder

    found = compare_folder(benchmark, folder)
    return {
        "images_in_the_manifest": len(found),
        "images_that_differ_from_it": sum(not image.same for image in found),
        "largest_difference_of_65535_levels": max((image.largest_difference for image in found), default=0.0),
    }
