"""What commands share: how a result is printed, groups of options, the files they work on, simulated studies.

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
from overread.files import json_text, no_folder, real_path
from overread.froc import LEVEL, N_BOOTSTRAP

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from overread.marks import MarkSet
    from overread.report import StudyResults
    from overread.study import Detector, RunReport, StudyDomain, StudyMarks
    from overread.truth import LabelOptions, MergeOptions


WITH_BAD_IMAGES = 3
"""Exit code: the work is done, but some images could not be used. Those of errors are in `overread.errors`."""

# numpy.random.RandomState, behind scikit-learn's random_state, takes 32 bits.
LARGEST_SEED = 2**32 - 1

Flag = Annotated[bool, Parameter(negative=())]
"""An option that is given or not; there is no ``--no-...`` of it."""
OutputPath = Annotated[Path, Parameter(name=["--output", "-o"])]
"""Where a command writes; the same name in every command."""
PixelSize = Annotated[str | None, Parameter(name="--mm-per-px")]
"""Size of a pixel as `parse_spacing` reads it."""

Record = TypeVar("Record")


def emit(record: Record, show: Callable[[Record], None], *, as_json: bool) -> None:
    """Print the result of a command: as JSON for machines, or for people as `show` prints it."""
    if as_json:
        print_json(json_text(record))
    else:
        show(record)


def make_table(
    header: Iterable[str], rows: Iterable[Iterable[Any]], *, right: slice = slice(0), **options: Any
) -> Table:
    """Table of cells as they are, never markup; they go on in the next line where the terminal is narrow.

    Cells may be rich's own `Text`; `right` are the columns that are aligned to the right, `options` those of
    `rich.table.Table`.
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
    """Print numbers by name as a table; `words` are other names than the keys."""
    named = {name: (words or {}).get(name, name.replace("_", " ")) for name in counts}
    print_table(("what", "number"), ((named[name], f"{n:,}") for name, n in counts.items()), **options)


def print_plain(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print text as it is: paths and ids may look like markup, and a line is never broken."""
    make_console(stderr=stderr).print(text, style=style, markup=False, soft_wrap=True)


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of the work inside on standard error, one line each, and none twice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_text(f"overread: warning: {message}", stderr=True)


def check_seed(seed: int) -> int:
    """Return the seed, and refuse one that not every random generator takes."""
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"--seed {seed}: need a whole number from 0 to {LARGEST_SEED}")
    return seed


def at_least_one(**options: int | None) -> None:
    """Refuse options that are given and below 1."""
    for name, value in options.items():
        if value is not None and value < 1:
            raise UsageError(f"{option_name(name)} {value}: need a whole number from 1")


def option_name(name: str) -> str:
    """Spell a parameter as it is typed."""
    return f"--{name.replace('_', '-')}"


def refuse_to_overwrite(inputs: Iterable[Path | None], outputs: Iterable[Path | None]) -> None:
    """Refuse to write where an input is; results of an earlier run are replaced."""
    read = {real_path(path) for path in inputs if path is not None}
    for path in outputs:
        if path is not None and real_path(path) in read:
            raise UsageError(f"{path}: is one of the files to read; choose another place for the results")


def open_detector(place: Path) -> Detector:
    """Read a detector from its file, or from the folder of the run that made it."""
    from overread.study import Detector, read_groups

    groups = read_groups(place)
    if groups:
        named = ", ".join(str(folder) for folder in groups.values())
        raise UsageError(f"{place}: each group of labels has a detector of its own; name one of {named}")
    return Detector.read(place / "detector.json" if place.is_dir() else place)


def open_domain(study: Path | None, group: str | None, finder: str | None = None) -> StudyDomain:
    """Read how a study's images are worked on, with the warnings about its tables."""
    from overread.study import read_study_domain

    with print_warnings():
        return read_study_domain(study, group, finder)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are made.

    Parameters
    ----------
    n_bootstrap
        Resamplings of patients for the intervals.
    level
        Level of the intervals; models are told apart where p is below 1 - level.
    seed
        Same seed, same answer.
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
    """Marks and readings that a command works on.

    Parameters
    ----------
    study
        Folder with marks and readings (.csv or .parquet). Unit, groups of labels and merging are those of its
        study.toml, unless options below say otherwise.
    marks
        Table of marks, instead of a study folder.
    readings
        Table of readings: a row for every reading, also where nothing was marked.
    derive_readings
        Take each reader to have read just the images with their marks. Rates and probabilities come out too high.
    """

    study: Path | None = None
    marks: Path | None = field(default=None, kw_only=True)
    readings: Path | None = field(default=None, kw_only=True)
    derive_readings: Flag = field(default=False, kw_only=True)

    def files(self) -> list[Path | None]:
        """List the tables that are read, or may be."""
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
                raise UsageError("give a study folder, or --marks and --readings, not both")
            with print_warnings():
                return read_folder(self.study, derive_readings=self.derive_readings)
        if self.marks is None or self.readings is None:
            raise UsageError("give a study folder, or both --marks and --readings")
        readings = read_table(self.readings, "readings")
        return MarkSet(read_table(self.marks, "marks"), readings, images_from_readings(readings))


@dataclass(frozen=True)
class ImageFile:
    """An image of a study: its id, its file, and the size of a pixel where the study states it."""

    image_id: str
    path: Path
    mm_per_px: tuple[float, float] | None


def list_images(folder: Path, *, mm_per_px: tuple[float, float] | None = None) -> list[ImageFile]:
    """List the images of a study's table, or without one the image files, with the ids that `overread init` gives.

    `mm_per_px` is the width and height of a pixel of images whose table states none.
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
                raise TableError(f"{table}: it has no column path, which says where an image's file is")
            return [_image_of_row(table, row, mm_per_px) for row in rows.to_dict(orient="records")]
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder}: no image in this folder")
    ids = ids_of_files([path.relative_to(folder).as_posix() for path in files])
    return [ImageFile(image_id, path, mm_per_px) for image_id, path in zip(ids, files, strict=True)]


def _image_of_row(table: Path, row: dict[Any, Any], given: tuple[float, float] | None) -> ImageFile:
    if not row["path"]:
        raise TableError(f"{table}: image {row['image_id']!r} has no path")
    spacing = (row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan))
    stated = not any(math.isnan(length) for length in spacing)
    return ImageFile(row["image_id"], table.parent / row["path"], spacing if stated else given)


def find_image(named: Path, run: Path, *, mm_per_px: tuple[float, float] | None = None) -> ImageFile:
    """Find an image by its file, or by any name that it goes by in the study of a run in ``STUDY/runs``."""
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
    """Read the width and height of a pixel from "X" or "X,Y"; "px" is 1: lengths are pixels."""
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
            f"--mm-per-px {text!r}: give one positive number such as 0.143, or two as 0.14,0.15; or px"
        )
    return lengths[0], lengths[-1]


@Parameter(name="*")
@dataclass(frozen=True)
class ImageTableOptions:
    """Where the images are and where the table goes.

    Parameters
    ----------
    folder
        A study with images.csv, or a folder of images, also in folders within it, whose names are the image ids.
    output
        Write the table here, CSV or Parquet by the ending.
    mm_per_px
        Size of a pixel, X or X,Y, where neither the file nor the study states it.
    json
        Print the summary as JSON.
    """

    folder: Path
    output: OutputPath = field(kw_only=True)
    mm_per_px: PixelSize = field(default=None, kw_only=True)
    json: Flag = field(default=False, kw_only=True)

    def check_output(self, inputs: Sequence[Path] = ()) -> None:
        """Refuse an output that is no table, or a file to read."""
        if self.output.suffix.lower() not in (".csv", ".parquet"):
            raise UsageError(f"{self.output}: a table ends in .csv or .parquet")
        refuse_to_overwrite([*inputs, self.folder / f"images{self.output.suffix}"], [self.output])

    def list_images(self) -> list[ImageFile]:
        """List the images; refuses an output that would replace one."""
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
    """Do the work on every image, write one table of all, and return the exit code.

    An image that cannot be used is named and skipped. `columns` has the type of each column beside image_id: a table
    without rows has them too. `of_study` says how images are read.
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
            f"Wrote {options.output}: {len(table):,} candidates of {n_images:,} images{skipped}"
        ),
        as_json=options.json,
    )
    return WITH_BAD_IMAGES if problems else 0


def run_simulated(
    make: Callable[[], Path], settings: str, *, workers: int, replaced: str | None = None
) -> RunReport:
    """Write the images, put the settings beside them, and run the study; all of it goes on where it stopped.

    `replaced` is what the simulation itself writes into study.toml; if not given, what it writes for chests.
    """
    from overread._terminal import ProgressBar
    from overread.files import write_atomically
    from overread.simulate import CHEST_LAYOUT
    from overread.study import run_study

    with ProgressBar():
        study = make()
        place = study / "study.toml"
        # The user's own changes stay: only what the simulation itself wrote is replaced.
        if place.read_text(encoding="utf-8") == (replaced or CHEST_LAYOUT.settings):
            write_atomically(place, settings.encode(), within=study)
        return run_study(study, execution={"workers": workers})


# A grid and a bootstrap just large enough that the report of a small cohort is whole; set by judgement, for speed.
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
    """Print what a run found, group by group where there are several."""
    from overread.report import read_results
    from overread.study import list_reports

    for group, one in list_reports(report).items():
        if group:
            print_plain(f"Group {group}")
        print_results(one, read_results(one.folder / "results.json"))
    if report.groups:
        print_plain(f"Report of all groups: {report.folder / 'report.html'}")


def print_results(report: RunReport, results: StudyResults) -> None:
    """Print what a run found in two tables, where its files are, and the verdict."""
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
        print_plain(f"{report.n_quarantined} of {report.n_images} images were given up:", style="yellow")
        for one in results.study.quarantined[:10]:
            print_plain(f"  {one.image_id}: {one.reason}")
    for name, file in RUN_FILES.items():
        if (report.folder / file).is_file():
            print_plain(f"{name}: {report.folder / file}")
    for line in sum_up(results):
        print_plain(line)


def _sensitivity_table(results: StudyResults) -> Table:
    """Sensitivity in unseen patients at the thresholds that were locked out of fold."""
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
