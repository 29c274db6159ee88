"""The three tables that importers give and the later stages take: marks, readings, images."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from overread.errors import TableError
from overread.files.atomic import no_folder, unfinished_files, write_together
from overread.one_line import print_as_one_line
from overread.tables.problems import Problem, raise_for_errors, raise_or_warn
from overread.tables.schemas import SCHEMAS
from overread.tables.table_files import read_hashed_table, scan_table, table_bytes
from overread.tables.validation import check_images, check_marks, check_readings, check_study

__all__ = [
    "HashedFolder",
    "MarkSet",
    "StudyScan",
    "combine",
    "find_path",
    "find_table",
    "images_from_readings",
    "read_folder",
    "read_hashed_folder",
    "refuse_unfinished",
    "scan_folder",
    "write_folder",
]

KINDS = ("marks", "readings", "images")
GIVE_AGAIN = "give that command again; the tables may be of two states"
PLACE = re.compile(r"(?:, row ([0-9]+))?(?:, column ([^:]+))?: (.*)", re.DOTALL)
NO_READINGS = (
    "there is no readings table (readings.csv or readings.parquet). Soft labels need to know who read each "
    "image, also who read it and marked nothing; list every reading as image_id, reader_id, or import the marks "
    "with --all-read-all or --readers A,B,C. Only where every reader marked every image that he read may readings be "
    "derived from the marks, on request"
)


@print_as_one_line("marks", "readings", "images")
@dataclass(frozen=True)
class MarkSet:
    """Marks, the readings they come from, and the images that were read.

    Parameters
    ----------
    marks, readings, images : pandas.DataFrame
        Tables of DESIGN's columns; see `overread.tables.schemas`.
    left_out : frozenset
        Image and reader of readings of which an import left something out. Without a mark they are not among
        ``readings``, whatever is given: what was drawn and cannot be read is not a reading that found nothing. Images
        of which no reading is left go with them.
    """

    marks: pd.DataFrame
    readings: pd.DataFrame
    images: pd.DataFrame
    left_out: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        if self.left_out:
            out = self.left_out - {*_pairs(self.marks)}
            kept = np.array([pair not in out for pair in _pairs(self.readings)], bool)
            readings = self.readings[kept].reset_index(drop=True)
            unread = {image for image, _ in out} - {*readings["image_id"]}
            images = self.images[~self.images["image_id"].isin(unread)].reset_index(drop=True)
            # All of left_out stays: a reading may lose its marks later, by their labels.
            for name, value in (("readings", readings), ("images", images)):
                object.__setattr__(self, name, value)


def _pairs(table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Image and reader, row by row."""
    return zip(table["image_id"], table["reader_id"], strict=True)


@dataclass(frozen=True)
class HashedFolder:
    """The tables of a folder, and the SHA-256 of each file that was read, by kind."""

    tables: MarkSet
    digests: dict[str, str]


@dataclass(frozen=True)
class StudyScan:
    """Tables of a folder as far as they could be read (None where not), and all that is wrong with them."""

    marks: pd.DataFrame | None
    readings: pd.DataFrame | None
    images: pd.DataFrame | None
    problems: list[Problem]


def find_table(folder: Path, kind: str) -> Path | None:
    """Path of a table in a folder, CSV or Parquet; both at once are refused."""
    found = [folder / f"{kind}.{ending}" for ending in ("csv", "parquet")]
    # Also a link that leads nowhere, or a pipe: reading it says so, while a table that is missing may be made up for.
    present = [path for path in found if path.is_symlink() or path.exists()]
    if len(present) > 1:
        raise TableError(f"{folder}: holds both {present[0].name} and {present[1].name}; keep one")
    return present[0] if present else None


def read_folder(folder: str | Path, *, derive_readings: bool = False) -> MarkSet:
    """Read the tables of a folder and check them, alone and against each other.

    Parameters
    ----------
    folder : str or Path
        Holds ``marks``, ``readings`` and, optionally, ``images``, each as ``.csv`` or ``.parquet``.
    derive_readings : bool
        Where there is no readings table, take a reader to have read just the images that he marked. This is
        false wherever somebody read an image and found nothing: probabilities come out too high.

    Raises
    ------
    TableError
        Naming the first few problems; also where there is no readings table.
    """
    return read_hashed_folder(folder, derive_readings=derive_readings).tables


def read_hashed_folder(folder: str | Path, *, derive_readings: bool = False) -> HashedFolder:
    """Read the tables as `read_folder` does, with the digests of the bytes that they were read from."""
    place = Path(folder)
    if not place.is_dir():
        raise TableError(no_folder(place))
    refuse_unfinished(place)
    marks_path, readings_path, images_path = (find_table(place, kind) for kind in KINDS)
    if marks_path is None:
        raise TableError(f"{place}: there is no marks table (marks.csv or marks.parquet)")
    found = {
        kind: read_hashed_table(path, kind)
        for kind, path in zip(KINDS, (marks_path, readings_path, images_path), strict=True)
        if path is not None
    }
    marks = found["marks"].frame
    if readings_path is not None:
        readings = found["readings"].frame
    elif derive_readings:
        readings = readings_from_marks(marks)
    else:
        raise TableError(f"{place}: {NO_READINGS}")
    images = found["images"].frame if images_path else images_from_readings(readings)
    names = tuple(
        str(path or kind) for path, kind in zip((marks_path, readings_path, images_path), KINDS, strict=True)
    )
    raise_or_warn(check_study(marks, readings, images, files=(names[0], names[1], names[2])))
    return HashedFolder(
        MarkSet(marks, readings, images), {kind: table.sha256 for kind, table in found.items()}
    )


def refuse_unfinished(folder: Path) -> None:
    """Refuse tables that were being replaced together when the process was killed: they belong to two states."""
    missing = unfinished_files(folder)
    if missing:
        raise TableError(f"{folder}: {describe_unfinished(missing)} ({GIVE_AGAIN})")


def describe_unfinished(names: Sequence[str]) -> str:
    """Say which files may be old, and which new."""
    return f"a command that writes {', '.join(names)} was stopped in the middle"


def readings_from_marks(marks: pd.DataFrame) -> pd.DataFrame:
    """Pairs of image and reader that occur among the marks."""
    return marks[["image_id", "reader_id"]].drop_duplicates(ignore_index=True)


def images_from_readings(readings: pd.DataFrame) -> pd.DataFrame:
    """Images that occur among the readings, of unknown size and spacing."""
    return readings[["image_id"]].drop_duplicates(ignore_index=True)


def scan_folder(folder: str | Path, *, derive_readings: bool = False) -> StudyScan:
    """Read what can be read of a folder's tables and collect all that is wrong, in each and between them."""
    place = Path(folder)
    if not place.is_dir():
        raise TableError(no_folder(place))
    problems: list[Problem] = []
    if missing := unfinished_files(place):
        problems.append(Problem(str(place), None, None, describe_unfinished(missing), GIVE_AGAIN))
    marks, readings, images = (scan_one(place, kind, problems) for kind in KINDS)
    paths = {kind: find_path(place, kind) for kind in KINDS}
    if not paths["marks"].is_file():
        remedy = "add marks.csv or marks.parquet"
        problems.append(Problem(str(place), None, None, "there is no marks table", remedy))
    if not paths["readings"].is_file():
        if marks is not None and derive_readings:
            readings = readings_from_marks(marks)
        else:
            remedy = "list every reading, also those without marks"
            problems.append(Problem(str(place), None, None, "there is no readings table", remedy))
    names = {kind: str(path) for kind, path in paths.items()}
    if images is not None:
        problems += check_images(images, file=names["images"])
    if readings is not None:
        problems += check_readings(readings, images, file=names["readings"])
    if marks is not None:
        problems += check_marks(marks, readings, images, file=names["marks"])
    return StudyScan(marks, readings, images, one_per_cell(problems))


def scan_one(folder: Path, kind: str, problems: list[Problem]) -> pd.DataFrame | None:
    """Scan one table of a folder; what stops the reading becomes a problem."""
    try:
        path = find_table(folder, kind)
        if path is None:
            return None
        scan = scan_table(path, kind)
    except TableError as error:
        problems.append(parse_problem(error, find_path(folder, kind)))
        return None
    problems += scan.problems
    return scan.frame


def parse_problem(error: TableError, path: Path) -> Problem:
    """Problem of an error whose text begins with the file and, it may be, the row and the column."""
    parts = PLACE.fullmatch(str(error).removeprefix(str(path)))
    row, column, message = parts.groups() if parts else (None, None, str(error))
    return Problem(str(path), int(row) if row else None, column, message, "correct the file")


def find_path(folder: Path, kind: str) -> Path:
    """Path of a table for messages, whether it is there or not."""
    found = [folder / f"{kind}.{ending}" for ending in ("csv", "parquet")]
    return next((path for path in found if path.is_file()), folder / kind)


def one_per_cell(problems: Sequence[Problem]) -> list[Problem]:
    """Drop what follows from an earlier problem of the same cell."""
    seen: set[tuple[str, int, str]] = set()
    kept = []
    for problem in problems:
        if problem.row is not None and problem.column is not None:
            cell = (problem.file, problem.row, problem.column)
            if cell in seen:
                continue
            seen.add(cell)
        kept.append(problem)
    return kept


def write_folder(
    mark_set: MarkSet,
    folder: str | Path,
    *,
    ending: str = "csv",
    overwrite: bool = False,
    keep_images: bool = False,
) -> list[Path]:
    """Write the three tables into a folder, made if need be, all or none; return their paths.

    With ``keep_images``, the images table that is there stays as it is.

    Raises
    ------
    TableError
        If the folder holds one of the tables already, unless ``overwrite``; in another ending, always.
    """
    place = Path(folder)
    kinds = KINDS[:2] if keep_images else KINDS
    for kind in kinds:
        for present in (place / f"{kind}.csv", place / f"{kind}.parquet"):
            if present.exists() and not (overwrite and present.suffix == f".{ending}"):
                raise TableError(
                    f"{present}: is there already (choose another folder, remove it, or overwrite it: --overwrite)"
                )
    place.mkdir(parents=True, exist_ok=True)
    names = {kind: f"{kind}.{ending}" for kind in kinds}
    return write_together(
        place, {name: (table_bytes(getattr(mark_set, kind), place / name),) for kind, name in names.items()}
    )


def combine(mark_sets: Sequence[MarkSet]) -> MarkSet:
    """Join mark sets of several files; what one file leaves open of an image, another may tell.

    Raises
    ------
    TableError
        If two files disagree on an image, or use one mark id twice in an image.
    """
    marks, readings, images = (
        pd.concat([getattr(mark_set, kind) for mark_set in mark_sets], ignore_index=True) for kind in KINDS
    )
    readings = readings.drop_duplicates(["image_id", "reader_id"], ignore_index=True)
    images = fill_from_same_image(images).drop_duplicates(ignore_index=True)
    if "label" in marks:
        marks["label"] = marks["label"].fillna("")
    left_out = frozenset().union(*(mark_set.left_out for mark_set in mark_sets))
    joined = MarkSet(marks, readings, images, left_out)
    raise_for_errors(check_study(joined.marks, joined.readings, joined.images, spelling=False))
    return joined


def fill_from_same_image(images: pd.DataFrame) -> pd.DataFrame:
    """Fill the empty cells of each image from other rows of the same image."""
    known = images.mask(images == "")
    known = known.fillna(known.groupby("image_id", sort=False).transform("first"))
    numbers = [column.name for column in SCHEMAS["images"].columns if column.type == "number"]
    texts = [name for name in known.columns if name not in numbers]
    return known.assign(**{name: known[name].fillna("").astype("str") for name in texts})
