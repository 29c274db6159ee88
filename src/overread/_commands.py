"""Code that commands share: printing results, groups of options, finding files, simulated studies.

Nothing heavy is imported here, because ``--help`` of every command imports it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from cyclopts import Parameter

from overread._terminal import make_console, print_json, print_line, print_text
from overread.errors import InvalidInputError, TableError, UsageError
from overread.files import no_folder, real_path
from overread.froc import LEVEL, N_BOOTSTRAP

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from overread.marks import MarkSet
    from overread.report import StudyResults
    from overread.study import Detector, RunReport, StudyDomain, StudyMarks
    from overread.truth import LabelOptions, MergeOptions


WITH_BAD_IMAGES = 3
"""Exit code: finished, but some images were skipped. `overread.errors` has the exit codes of errors."""

# numpy.random.RandomState, behind scikit-learn's random_state, takes 32 bits.
LARGEST_SEED = 2**32 - 1

Flag = Annotated[bool, Parameter(negative=())]
"""An option without a value and without a ``--no-...`` form."""
OutputPath = Annotated[Path, Parameter(name=["--output", "-o"])]
"""The output file or folder, under the same name in every command."""
PixelSize = Annotated[str | None, Parameter(name="--mm-per-px")]
"""Pixel size as `parse_spacing` reads it."""

Record = TypeVar("Record")


def emit(record: Record, show: Callable[[Record], None], *, as_json: bool) -> None:
    """Print the result of a command as JSON, or call `show` to print it for people."""
    if as_json:
        from overread.files import json_text

        print_json(json_text(record))
    else:
        show(record)


def make_table(
    header: Iterable[str], rows: Iterable[Iterable[Any]], *, right: slice = slice(0), **options: Any
) -> Table:
    """Make a table of plain text; long cells wrap where the terminal is narrow.

    Cells may also be `rich.text.Text`. `right` selects the columns that are aligned to the right; `options`
    go to `rich.table.Table`.
    """
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(*map(escape, header), **options)
    for column in table.columns:
        column.overflow = "fold"
    for column in table.columns[right]:
        column.justify = "right"
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else escape(str(cell)) for cell in row))
    return table


def print_table(header: Iterable[str], rows: Iterable[Iterable[Any]], **options: Any) -> None:
    """Print a table as `make_table` makes it."""
    make_console().print(make_table(header, rows, **options))


def print_counts(
    counts: Mapping[str, float], *, words: Mapping[str, str] | None = None, **options: Any
) -> None:
    """Print numbers by name as a table; `words` replaces keys by other names."""
    named = {name: (words or {}).get(name, name.replace("_", " ")) for name in counts}
    print_table(("what", "number"), ((named[name], f"{n:,}") for name, n in counts.items()), **options)


def print_plain(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print text without interpreting markup and without breaking lines."""
    make_console(stderr=stderr).print(text, style=style, markup=False, soft_wrap=True)


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of this block on standard error, one line each, without repetitions."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_text(f"overread: warning: {message}", stderr=True)


def check_seed(seed: int) -> int:
    """Return the seed; refuse one outside the range of any random generator."""
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"--seed {seed}: give a whole number from 0 to {LARGEST_SEED}")
    return seed


def at_least_one(**options: int | None) -> None:
    """Refuse options that are given and below 1."""
    for name, value in options.items():
        if value is not None and value < 1:
            raise UsageError(f"{option_name(name)} {value}: give a whole number from 1")


def option_name(name: str) -> str:
    """Return a parameter's option, as the user types it."""
    return f"--{name.replace('_', '-')}"


def refuse_to_overwrite(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse to overwrite an input; results of an earlier run are replaced."""
    read = {real_path(path) for path in inputs if path is not None}
    for path in outputs:
        if path is not None and real_path(path) in read:
            raise UsageError(f"{path}: is an input file. Choose another file for the results.")


def open_detector(place: Path) -> Detector:
    """Read a detector from its file, or from the folder of the run that made it."""
    from overread.study import Detector, read_groups

    groups = read_groups(place)
    if groups:
        named = ", ".join(str(folder) for folder in groups.values())
        raise UsageError(f"{place}: each group of labels has its own detector. Name one of {named}.")
    return Detector.read(place / "detector.json" if place.is_dir() else place)


def open_domain(study: Path | None, group: str | None, finder: str | None = None) -> StudyDomain:
    """Read how a study's images are processed, and print the warnings about its tables."""
    from overread.study import read_study_domain

    with print_warnings():
        return read_study_domain(study, group, finder)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are computed.

    Parameters
    ----------
    n_bootstrap
        Number of bootstrap samples of patients for the intervals.
    level
        Confidence level of the intervals. Two models differ where p is below 1 - level.
    seed
        Random seed. The same seed gives the same result.
    """

    n_bootstrap: int = N_BOOTSTRAP
    level: float = LEVEL
    seed: int = 0

    def check(self) -> None:
        """Refuse a seed or a number of resamplings that cannot be used."""
        from overread.froc import check_draws

        check_seed(self.seed)
        check_draws(self.n_bootstrap, self.level)


@Parameter(name="*")
@dataclass(frozen=True)
class MarkTables:
    """The tables that a command reads.

    Parameters
    ----------
    study
        Folder with tables of marks and readings (.csv or .parquet). Unit, groups of labels and merging come
        from its study.toml unless you give the options below.
    marks
        Table of marks, instead of a study folder.
    readings
        Table of readings, one row per reading, also where the reader marked nothing.
    derive_readings
        Assume that each reader read only the images that they marked. Rates and probabilities come out too
        high.
    """

    study: Path | None = None
    marks: Path | None = field(default=None, kw_only=True)
    readings: Path | None = field(default=None, kw_only=True)
    derive_readings: Flag = field(default=False, kw_only=True)

    def files(self) -> list[Path | None]:
        """List the tables that may be read."""
        names = [f"{name}{end}" for name in ("marks", "readings", "images") for end in (".csv", ".parquet")]
        return [self.marks, self.readings, *(self.study / name for name in names if self.study is not None)]

    def load(self, options: MergeOptions | None, labels: LabelOptions | None = None) -> StudyMarks:
        """Read the tables of the study folder, or the two files, with the study's settings."""
        from overread.study import take_study_marks

        return take_study_marks(self.study, self._read(), options, labels)

    def _read(self) -> MarkSet:
        from overread.marks import MarkSet, images_from_readings, read_folder
        from overread.tables import read_table

        if self.study is not None:
            if self.marks is not None or self.readings is not None:
                raise UsageError("give either a study folder, or --marks and --readings, not both")
            with print_warnings():
                return read_folder(self.study, derive_readings=self.derive_readings)
        if self.marks is None or self.readings is None:
            raise UsageError("give a study folder, or both --marks and --readings")
        readings = read_table(self.readings, "readings")
        return MarkSet(read_table(self.marks, "marks"), readings, images_from_readings(readings))


@dataclass(frozen=True)
class ImageFile:
    """An image of a study: its id, its file, and its pixel size where the study states it."""

    image_id: str
    path: Path
    mm_per_px: tuple[float, float] | None


def list_images(folder: Path, *, mm_per_px: tuple[float, float] | None = None) -> list[ImageFile]:
    """List the images of a study's table; without a table, the image files with the ids that `overread init` gives.

    `mm_per_px` is the pixel size (width, height) of images whose table states none.
    """
    from overread.images import image_files
    from overread.marks import ids_of_files
    from overread.tables import read_table

    if not folder.is_dir():
        raise UsageError(no_folder(folder))
    for table in (folder / "images.csv", folder / "images.parquet"):
        if table.is_file():
            rows = read_table(table, "images")
            if "path" not in rows:
                raise TableError(f"{table}: has no column path. Add it, with each image's file.")
            return [_image_of_row(table, row, mm_per_px) for row in rows.to_dict(orient="records")]
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder}: this folder contains no image")
    ids = ids_of_files([path.relative_to(folder).as_posix() for path in files])
    return [ImageFile(image_id, path, mm_per_px) for image_id, path in zip(ids, files, strict=True)]


def _image_of_row(table: Path, row: dict[Any, Any], given: tuple[float, float] | None) -> ImageFile:
    if not row["path"]:
        raise TableError(f"{table}: image {row['image_id']!r} has no path")
    spacing = (row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan))
    stated = not any(math.isnan(length) for length in spacing)
    return ImageFile(row["image_id"], table.parent / row["path"], spacing if stated else given)


def find_image(named: Path, run: Path, *, mm_per_px: tuple[float, float] | None = None) -> ImageFile:
    """Find an image by its file, or by any of its names in the study of a run in ``STUDY/runs``."""
    from overread.marks import ImageNames, without_ending

    folder = run if run.is_dir() else run.parent
    study = folder.resolve().parents[1]
    if not named.exists() and folder.resolve().parent.name == "runs" and (study / "images.csv").is_file():
        images = {image.image_id: image for image in list_images(study, mm_per_px=mm_per_px)}
        paths = {image_id: image.path.relative_to(study).as_posix() for image_id, image in images.items()}
        image_id = ImageNames(paths, str(study / "images.csv")).find(named.as_posix())
        if image_id is not None:
            return images[image_id]
    return ImageFile(without_ending(named.name), named, mm_per_px)


def parse_spacing(text: str | None) -> tuple[float, float] | None:
    """Read the pixel size from "X" or "X,Y"; "px" stands for 1, so that lengths are in pixels."""
    if text is None:
        return None
    if text == "px":
        return 1.0, 1.0
    try:
        lengths = [float(part) for part in text.split(",")]
    except ValueError:
        lengths = []
    if len(lengths) not in (1, 2) or not all(0 < length < math.inf for length in lengths):
        raise UsageError(
            f"--mm-per-px {text!r}: give one positive number such as 0.143, two such as 0.14,0.15, or px"
        )
    return lengths[0], lengths[-1]


@Parameter(name="*")
@dataclass(frozen=True)
class ImageTableOptions:
    """The images, and the table to write.

    Parameters
    ----------
    folder
        A study with images.csv; or a folder of images and subfolders, whose file names become the image ids.
    output
        File for the table; its ending (.csv or .parquet) chooses the format.
    mm_per_px
        Pixel size in mm, X or X,Y, where neither the file nor the study states it.
    json
        Print the summary as JSON.
    """

    folder: Path
    output: OutputPath = field(kw_only=True)
    mm_per_px: PixelSize = field(default=None, kw_only=True)
    json: Flag = field(default=False, kw_only=True)

    def check_output(self, inputs: Sequence[Path] = ()) -> None:
        """Refuse an output that is not a table, or that is an input."""
        if self.output.suffix.lower() not in (".csv", ".parquet"):
            raise UsageError(f"{self.output}: give the table a name that ends in .csv or .parquet")
        refuse_to_overwrite([*inputs, self.folder / f"images{self.output.suffix}"], [self.output])

    def list_images(self) -> list[ImageFile]:
        """List the images; refuse an output that would overwrite one."""
        images = list_images(self.folder, mm_per_px=parse_spacing(self.mm_per_px))
        self.check_output([image.path for image in images])
        return images


def write_image_table(
    options: ImageTableOptions,
    images: Sequence[ImageFile],
    work: Callable[[ImageFile, Any], pd.DataFrame],
    columns: Mapping[str, str],
    *,
    title: str,
    of_study: StudyDomain,
) -> int:
    """Process every image, write one table, and return the exit code.

    An image that cannot be used is reported and skipped. `columns` has the type of each column except
    image_id, so that an empty table has them too. `of_study` defines how images are read.
    """
    import pandas as pd

    from overread._terminal import ProgressBar, count_steps
    from overread.tables import write_table

    types = {"image_id": "str", **columns}
    frames = [pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})]
    problems: dict[str, str] = {}
    with ProgressBar():
        for image in count_steps(f"{title}: images", images):
            try:
                frame = work(image, of_study.read(image.image_id, image.path, image.mm_per_px))
            except InvalidInputError as error:
                problems[image.image_id] = str(error)
                print_line(f"overread: skipped {image.image_id}: {error}", stderr=True)
                continue
            frame.insert(0, "image_id", image.image_id)
            frames.append(frame)
    table = pd.concat(frames[1:] or frames, ignore_index=True)
    write_table(table, options.output)
    n_images, skipped = len(images) - len(problems), f", {len(problems)} skipped" if problems else ""
    emit(
        {"images": n_images, "candidates": len(table), "skipped": problems, "output": str(options.output)},
        lambda _: print_line(
            f"Wrote {options.output}: {len(table):,} candidates in {n_images:,} images{skipped}"
        ),
        as_json=options.json,
    )
    return WITH_BAD_IMAGES if problems else 0


def run_simulated(
    make: Callable[[], Path], settings: str, *, workers: int, replaced: str | None = None
) -> RunReport:
    """Simulate the images, write the settings, and run the study; an interrupted demo continues where it stopped.

    `replaced` is the text that the simulation writes into study.toml; by default the text for chests.
    """
    from overread._terminal import ProgressBar
    from overread.files import write_atomically
    from overread.simulate import CHEST_LAYOUT
    from overread.study import run_study

    with ProgressBar():
        study = make()
        place = study / "study.toml"
        # Only the text of the simulation is replaced, so that the user's changes stay.
        if place.read_text(encoding="utf-8") == (replaced or CHEST_LAYOUT.settings):
            write_atomically(place, settings.encode(), within=study)
        return run_study(study, execution={"workers": workers})


# The smallest grid and bootstrap with which the report of a small cohort is complete; set by judgement, for
# speed.
DEMO_STUDY = """
[models]
folds = 5

[b1]
prune_bounds = [100.0]

[b2]
prune_bounds = [100.0]
n_bootstrap = 50

[evaluation]
n_bootstrap = 500
headline = "test"
"""


def run_demo(output: Path, *, kind: str = "chest", n_images: int | None = None, seed: int = 0) -> RunReport:
    """Simulate the study of `overread demo` and run it."""
    from overread.simulate import KINDS
    from overread.study import count_processors

    cohort, workers = KINDS[kind], count_processors()
    make = partial(
        cohort.write,
        output,
        n_images=n_images or cohort.demo_images,
        seed=check_seed(seed),
        workers=workers,
        **cohort.demo_options,
    )
    written = cohort.layout.settings
    named = written.replace("seed = 0\n", f'seed = {seed}\nname = "Overread demo"\n', 1)
    return run_simulated(make, named + DEMO_STUDY, workers=workers, replaced=written)


RUN_FILES = {
    "Results": "results.json",
    "Detector": "detector.json",
    "Model card": "model_card.md",
    "Report": "report.html",
}


def print_report(report: RunReport) -> None:
    """Print the results of a run, group by group if there are several."""
    from overread.report import read_results
    from overread.study import list_reports

    for group, one in list_reports(report).items():
        if group:
            print_plain(f"Group {group}")
        print_results(one, read_results(one.folder / "results.json"))
    if report.groups:
        print_plain(f"Report of all groups: {report.folder / 'report.html'}")


def print_results(report: RunReport, results: StudyResults) -> None:
    """Print the results of a run in two tables, its files and the verdict."""
    from overread.report import sum_up

    counts = ("n_images", "n_patients", "n_golden", "n_golden_reached", "n_candidates")
    print_table(
        ("part", "images", "patients", "golden GTs", "reached", "candidates"),
        ((part.name, *(f"{getattr(part, name):,}" for name in counts)) for part in results.study.splits),
        right=slice(1, None),
        title="The study",
    )
    make_console().print(_sensitivity_table(results))
    if report.n_quarantined:
        print_plain(f"{report.n_quarantined} of {report.n_images} images were skipped:", style="yellow")
        for one in results.study.quarantined[:10]:
            print_plain(f"  {one.image_id}: {one.reason}")
    for name, file in RUN_FILES.items():
        if (report.folder / file).is_file():
            print_plain(f"{name}: {report.folder / file}")
    for line in sum_up(results):
        print_plain(line)


def _sensitivity_table(results: StudyResults) -> Table:
    """Table of the sensitivity in unseen patients at the thresholds that were locked out of fold."""
    from overread.report import is_nested

    if is_nested(results):
        title = "All patients by nested cross-validation, thresholds locked in each fold without its patients"
        shown = ("FP per image\nunseen", "golden GTs\nfound")
    else:
        source = results.detector.thresholds.replace("_", " ")
        title = f"The test set, thresholds locked on training + validation ({source})"
        shown = ("FP per image\nin test", "golden GTs\nfound in test")
    header = ("model", "features", "locked for\nFP per image", *shown)
    table = make_table(header, (), right=slice(1, None), title=title)
    for model in results.models:
        rows = model.counted[0].points
        measures = [rows[rows["measure"] == measure] for measure in ("gt_sensitivity", "fp_per_image")]
        pairs = zip(results.fp_targets, *(part.to_dict("records") for part in measures), strict=True)
        for row, (target, found, induced) in enumerate(pairs):
            named = ("", "") if row else (model.title, str(model.n_features))
            share, low, high = (100 * found[name] for name in ("estimate", "lower", "upper"))
            known = not any(map(math.isnan, (share, low, high)))
            sensitivity = f"{share:.0f} % ({low:.0f} to {high:.0f})" if known else "-"
            table.add_row(*named, f"{target:g}", f"{induced['estimate']:.2f}", sensitivity)
        table.add_section()
    return table
