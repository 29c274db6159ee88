"""What all commands agree on: an exit code, seeds, files that are not overwritten, and how they speak.

Nothing heavy is imported here: `--help` of every command does.

Find the image files that a command works on.

Commands that make one table of all images of a folder: their shared options, and the loop over the images.

Find the marks and readings that a command works on.

What the commands that simulate share: a study made and run in one go.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from overread._terminal import make_console, print_json, print_line, print_text
from overread.errors import InvalidInputError, TableError, UsageError
from overread.files import real_path
from overread.marks import MarkSet, images_from_readings, read_folder
from overread.tables import read_table

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from overread.study import Detector, RunReport, StudyDomain


WITH_BAD_IMAGES = 3
"""Exit code: the work is done, but some images could not be used. Those of errors are in `overread.errors`."""

# numpy.random.RandomState, behind scikit-learn's random_state, takes 32 bits.
LARGEST_SEED = 2**32 - 1


def check_seed(seed: int) -> int:
    """Return the seed, and refuse one that not every random generator takes."""
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"--seed {seed}: need a whole number from 0 to {LARGEST_SEED}")
    return seed


def refuse_to_overwrite(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write where an input is; results of an earlier run are replaced."""
    read = {real_path(path) for path in inputs}
    for path in outputs:
        if real_path(path) in read:
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


def print_plain(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print text as it is: paths and ids may look like markup, and a line is never broken."""
    make_console(stderr=stderr).print(text, style=style, markup=False, soft_wrap=True)


def fold_cells(table: Table) -> Table:
    """Return the table, with cells that go on in the next line where the terminal is narrow: nothing is left out."""
    for column in table.columns:
        column.overflow = "fold"
    return table


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of the work inside on standard error, one line each, and none twice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_text(f"overread: warning: {message}", stderr=True)


@dataclass(frozen=True)
class ImageFile:
    """An image of a study: its id, its file, and the size of a pixel where the study states it."""

    image_id: str
    path: Path
    mm_per_px: tuple[float, float] | None


def list_images(folder: Path, *, mm_per_px: float | tuple[float, float] | None = None) -> list[ImageFile]:
    """List the images of a study folder, or the image files of a folder without a table of images.

    Parameters
    ----------
    folder
        With images.csv or images.parquet: its rows. Else each image file, also in folders within it (`image_files`),
        with the id that `overread init` would give it.
    mm_per_px
        Size of a pixel, or its width and height, for images whose table states none.

    Raises
    ------
    UsageError
        If there is no such folder, or no image file in it.
    TableError
        If the table of images has no column path, or a path is empty.
    """
    from overread.files import no_folder
    from overread.images import image_files
    from overread.marks import ids_of_files
    from overread.tables import read_table

    if not folder.is_dir():
        raise UsageError(no_folder(folder))
    given = (mm_per_px, mm_per_px) if isinstance(mm_per_px, float | int) else mm_per_px
    for name in ("images.csv", "images.parquet"):
        if (folder / name).is_file():
            table = read_table(folder / name, "images")
            if "path" not in table:
                raise TableError(
                    f"{folder / name}: it has no column path, which says where an image's file is"
                )
            return [_image_of_row(folder, name, row, given) for row in table.to_dict(orient="records")]
    files = image_files(folder)
    if not files:
        raise UsageError(f"{folder}: no image in this folder")
    ids = ids_of_files([path.relative_to(folder).as_posix() for path in files])
    return [ImageFile(image_id, path, given) for image_id, path in zip(ids, files, strict=True)]


def find_image(named: Path, run: Path, *, mm_per_px: tuple[float, float] | None = None) -> ImageFile:
    """Find an image by its file, or by any name that it goes by in the study of a run.

    Parameters
    ----------
    named
        A file, or the id, file name or path of an image of the study.
    run
        Folder of the run in ``STUDY/runs``, or a file in it.
    mm_per_px
        Size of a pixel where neither the file nor the study states it.
    """
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


def _image_of_row(
    folder: Path, table: str, row: dict[Any, Any], given: tuple[float, float] | None
) -> ImageFile:
    """Image of one row of the table."""
    if not row["path"]:
        raise TableError(f"{folder / table}: image {row['image_id']!r} has no path")
    spacing = (row.get("mm_per_px_x", math.nan), row.get("mm_per_px_y", math.nan))
    stated = not any(math.isnan(length) for length in spacing)
    return ImageFile(row["image_id"], folder / row["path"], spacing if stated else given)


def parse_spacing(text: str | None) -> tuple[float, float] | None:
    """Read the width and height of a pixel from "X" or "X,Y"; "px" is 1: lengths are pixels.

    Raises
    ------
    UsageError
        If the text is neither one nor two numbers above 0.
    """
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
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = field(kw_only=True)
    mm_per_px: str | None = field(default=None, kw_only=True)
    json: Annotated[bool, Parameter(negative=())] = field(default=False, kw_only=True)

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

    An image that cannot be used is named and skipped.

    Parameters
    ----------
    options
        Where the table goes.
    images
        The images, in the order of the table.
    work
        Makes the rows of one image, one a candidate.
    columns
        Type of each column beside image_id: a table without rows has them too.
    title
        What is done, for who waits.
    of_study
        How images are read.
    """
    from overread.tables import write_table

    frames, problems = _collect(images, work, title, of_study)
    write_table(_join(frames, columns), options.output)
    _print_summary(frames, problems, options)
    return WITH_BAD_IMAGES if problems else 0


def _collect(
    images: Sequence[ImageFile],
    work: Callable[[ImageFile, Any], pd.DataFrame],
    title: str,
    of_study: StudyDomain,
) -> tuple[list[pd.DataFrame], dict[str, str]]:
    """Rows image by image, and what was wrong with the images that have none."""
    from overread._terminal import ProgressBar, count_steps

    frames: list[pd.DataFrame] = []
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
    return frames, problems


def _join(frames: Sequence[pd.DataFrame], columns: Mapping[str, str]) -> pd.DataFrame:
    """One table of all images, which has its columns even without rows."""
    import pandas as pd

    if frames:
        return pd.concat(frames, ignore_index=True)
    types = {"image_id": "str", **columns}
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in types.items()})


def _print_summary(
    frames: Sequence[pd.DataFrame], problems: dict[str, str], options: ImageTableOptions
) -> None:
    """Say how many candidates of how many images are in the table, and which images were skipped."""
    from json import dumps

    n_images, n_rows = len(frames), sum(len(frame) for frame in frames)
    if options.json:
        summary = {
            "images": n_images, "candidates": n_rows, "skipped": problems, "output": str(options.output)
        }  # fmt: skip
        print_json(dumps(summary, ensure_ascii=False))
    else:
        skipped = f", {len(problems)} skipped" if problems else ""
        print_line(f"Wrote {options.output}: {n_rows:,} candidates of {n_images:,} images{skipped}")


def load_marks(
    study: Path | None, marks: Path | None, readings: Path | None, *, derive_readings: bool
) -> MarkSet:
    """Tables of a study folder, or of two files given one by one.

    Raises
    ------
    UsageError
        If neither or both are given, or one file of the two.
    """
    if study is not None:
        if marks is not None or readings is not None:
            raise UsageError("give a study folder, or --marks and --readings, not both")
        with print_warnings():
            return read_folder(study, derive_readings=derive_readings)
    if marks is None or readings is None:
        raise UsageError("give a study folder, or both --marks and --readings")
    readings_table = read_table(readings, "readings")
    return MarkSet(read_table(marks, "marks"), readings_table, images_from_readings(readings_table))


def run_simulated(
    make: Callable[[], Path],
    settings: str,
    *,
    workers: int,
    seed: int | None = None,
    replaced: str | None = None,
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
        return run_study(study, seed=seed, execution={"workers": workers})
