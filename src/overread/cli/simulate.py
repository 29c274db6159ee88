"""`overread simulate`: a study folder with known nodules or lesions and simulated readers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from overread._commands import fold_cells
from overread._terminal import make_console, print_json, print_line
from overread._text import shell_word
from overread.errors import UsageError


def simulate(
    out: Path,
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
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Write a study folder with known nodules and simulated readers: images, tables, and the truth in known/.

    Example: overread simulate my_study --kind field --n-images 60

    The same seed gives the same bytes, whatever the number of workers. A run that was stopped goes on where it was
    when the same command is given again.

    Parameters
    ----------
    out
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
    from overread import simulate as simulation
    from overread._commands import check_seed
    from overread._terminal import ProgressBar

    if workers < 1 or (readers is not None and readers < 1) or (n_images is not None and n_images < 1):
        raise UsageError("--workers, --readers and --n-images are whole numbers from 1")
    chest_only = benchmark is not None or backgrounds is not None or images_csv is not None
    varied = nodules != "plain"
    if kind == "field" and (chest_only or varied or format == "dicom" or grid_mm != 0.7):
        raise UsageError(
            "fields are drawn, as PNG without a scale: leave out --benchmark, --nodules, --backgrounds, "
            "--images-csv, --grid-mm and --format dicom"
        )
    if benchmark is not None and (
        n_images is not None or seed != 0 or readers is not None or grid_mm != 0.7 or varied
    ):
        raise UsageError(
            "a frozen --benchmark has its own images, nodules, readers, grid and seed: leave those options out"
        )
    where: dict[str, Any] = {"backgrounds": backgrounds, "images_csv": images_csv}
    how: dict[str, Any] = {"format": format or "dicom", "workers": workers}
    with ProgressBar():
        if kind == "field":
            simulation.picture_cohort(
                out, n_images=n_images or 100, n_readers=readers or 4, seed=check_seed(seed), workers=workers
            )
        elif benchmark is not None:
            simulation.benchmark(benchmark, out, **where, **how)
        else:
            numbers: dict[str, Any] = {
                "n_readers": readers or 8,
                "nodules": nodules,
                "seed": check_seed(seed),
                "grid_mm": grid_mm,
            }
            simulation.cohort(out, n_images=n_images or 100, **numbers, **where, **how)
    report(out, benchmark, json=json)


def report(out: Path, benchmark: str | None, *, json: bool) -> None:
    """Say what is in the folder, and whether a benchmark is what it should be."""
    from json import dumps

    from rich.table import Table

    counts = _folder_counts(out)
    if benchmark is not None:
        counts |= agreement(out, benchmark)
    if json:
        print_json(dumps({"folder": str(out), **counts}))
        return
    console = make_console()
    table = Table("what", "number")
    for name, value in counts.items():
        table.add_row(name.replace("_", " "), f"{value:,}")
    console.print(fold_cells(table))
    print_line(f"Wrote {out}. Next: overread run {shell_word(out)}")


def _folder_counts(out: Path) -> dict[str, float]:
    """Count what is in a study folder, marks merged."""
    from overread._commands import print_warnings
    from overread.tables import read_table
    from overread.truth import merge_marks

    marks, readings = read_table(out / "marks.csv", "marks"), read_table(out / "readings.csv", "readings")
    with print_warnings():
        truth = merge_marks(marks, readings)
    return {
        "images": int(readings["image_id"].nunique()),
        "readers": int(readings["reader_id"].nunique()),
        "readings": len(readings),
        **_count_known(out),
        "marks": len(marks),
        "marked_images": int(marks["image_id"].nunique()),
        "golden": int(truth["golden"].sum()),
    }


def _count_known(out: Path) -> dict[str, float]:
    """Count the nodules of chests, or the lesions of fields."""
    import pandas as pd

    name = "lesions" if (out / "known" / "lesions.csv").is_file() else "nodules"
    return {name: len(pd.read_csv(out / "known" / f"{name}.csv", usecols=["nodule_id"]))}


def agreement(out: Path, benchmark: str) -> dict[str, float]:
    """How the folder's images agree with the benchmark's manifest."""
    from overread.simulate import compare_folder

    found = compare_folder(benchmark, out)
    return {
        "images_in_the_manifest": len(found),
        "images_that_differ_from_it": sum(not image.same for image in found),
        "largest_difference_of_65535_levels": max((image.largest_difference for image in found), default=0.0),
    }
