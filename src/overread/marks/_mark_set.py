"""The three tables of a study: marks, readings, images.

Readings that the marks do not show are given: all readers read all images, some readers did, or a table.

A list of marks cannot show that a reader looked and found nothing, but soft labels count such readings.

``found_files.csv`` lists the image files of a study folder, so that imports and reports can name skipped ones.

It has a row for each file: its path in the folder, and for a skipped file the step that skipped it and the reason.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from overread._text import short_repr
from overread.errors import DataWarning, TableError, UsageError
from overread.files import no_folder, unfinished_files, write_together
from overread.marks._file_names import ImageNames, ids_of_files
from overread.marks.formats._sheet_columns import guess_columns
from overread.tables import (
    SCHEMAS,
    Column,
    Problem,
    Schema,
    check_images,
    check_marks,
    check_readings,
    check_study,
    quote_cell,
    raise_for_errors,
    raise_or_warn,
    read_hashed_table,
    read_sheet,
    scan_file,
    scan_table,
    table_bytes,
    visible_text,
)

KINDS = ("marks", "readings", "images")
GIVE_AGAIN = "run that command again; the tables may be of different states"
PLACE = re.compile(r"(?:, row ([0-9]+))?(?:, column ([^:]+))?: (.*)", re.DOTALL)
NO_READINGS = (
    "the readings table is missing (readings.csv or readings.parquet). Soft labels need all readings of each "
    "image, also those without marks. List every reading as image_id, reader_id, or import the marks "
    "with --all-read-all or --readers A,B,C. Only if the readers marked every image that they read, readings can be "
    "derived from the marks, on request"
)


@short_repr("marks", "readings", "images")
@dataclass(frozen=True)
class MarkSet:
    """Marks, the readings, and the images that were read.

    Parameters
    ----------
    marks, readings, images : pandas.DataFrame
        The tables of a study (docs/reference/tables.md).
    left_out : frozenset
        Image and reader of readings with shapes that an import skipped. Without a mark they are not in ``readings``,
        because a shape that cannot be imported is not an empty reading. Images without a remaining reading are dropped
        too.
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
            # left_out stays complete: a reading may lose its marks later by their labels.
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
    """The readable tables of a folder (None if not readable), and all their problems."""

    marks: pd.DataFrame | None
    readings: pd.DataFrame | None
    images: pd.DataFrame | None
    problems: list[Problem]


def find_table(folder: Path, kind: str) -> Path | None:
    """Path of a table in a folder, CSV or Parquet; both at once are refused."""
    found = [folder / f"{kind}.{ending}" for ending in ("csv", "parquet")]
    # Includes broken links and pipes, whose reading gives an error, while a missing table may be replaced.
    present = [path for path in found if path.is_symlink() or path.exists()]
    if len(present) > 1:
        raise TableError(
            f"{folder}: contains both {present[0].name} and {present[1].name}. Keep one of them."
        )
    return present[0] if present else None


def read_folder(folder: str | Path, *, derive_readings: bool = False) -> MarkSet:
    """Read the tables of a folder and check them, separately and together.

    Parameters
    ----------
    folder : str or Path
        Folder with ``marks``, ``readings`` and, optionally, ``images``, each as ``.csv`` or ``.parquet``.
    derive_readings : bool
        Without a readings table, assume that each reader read only the images that they marked. If a reader found
        nothing in some image, this is wrong, and probabilities come out too high.

    Raises
    ------
    TableError
        With the first few problems; also if the readings table is missing.
    """
    return read_hashed_folder(folder, derive_readings=derive_readings).tables


def read_hashed_folder(folder: str | Path, *, derive_readings: bool = False) -> HashedFolder:
    """Read the tables as `read_folder` does, with the digests of the bytes that they were read from."""
    place = Path(folder)
    if not place.is_dir():
        raise TableError(no_folder(place))
    refuse_unfinished(place)
    paths = {kind: find_table(place, kind) for kind in KINDS}
    if paths["marks"] is None:
        raise TableError(f"{place}: the marks table is missing (marks.csv or marks.parquet)")
    found = {kind: read_hashed_table(path, kind) for kind, path in paths.items() if path is not None}
    marks = found["marks"].frame
    if "readings" in found:
        readings = found["readings"].frame
    elif derive_readings:
        readings = _readings_from_marks(marks)
    else:
        raise TableError(f"{place}: {NO_READINGS}")
    images = found["images"].frame if "images" in found else images_from_readings(readings)
    files = {kind: str(path or kind) for kind, path in paths.items()}
    raise_or_warn(
        check_study(marks, readings, images, files=(files["marks"], files["readings"], files["images"]))
    )
    digests = {kind: table.sha256 for kind, table in found.items()}
    return HashedFolder(MarkSet(marks, readings, images), digests)


def refuse_unfinished(folder: Path) -> None:
    """Refuse tables whose joint writing was interrupted, because they may be of different states."""
    missing = unfinished_files(folder)
    if missing:
        raise TableError(f"{folder}: {_describe_unfinished(missing)} ({GIVE_AGAIN})")


def _describe_unfinished(names: Sequence[str]) -> str:
    """Describe the interrupted command."""
    return f"a command that writes {', '.join(names)} was interrupted"


def _readings_from_marks(marks: pd.DataFrame) -> pd.DataFrame:
    """Pairs of image and reader that occur among the marks."""
    return marks[["image_id", "reader_id"]].drop_duplicates(ignore_index=True)


def images_from_readings(readings: pd.DataFrame) -> pd.DataFrame:
    """Images that occur among the readings, of unknown size and spacing."""
    return readings[["image_id"]].drop_duplicates(ignore_index=True)


def scan_folder(folder: str | Path, *, derive_readings: bool = False) -> StudyScan:
    """Read a folder's tables as far as possible and collect all problems in and between them."""
    place = Path(folder)
    if not place.is_dir():
        raise TableError(no_folder(place))
    problems: list[Problem] = []
    if missing := unfinished_files(place):
        problems.append(Problem(str(place), None, None, _describe_unfinished(missing), GIVE_AGAIN))
    marks, readings, images = (_scan_one(place, kind, problems) for kind in KINDS)
    paths = {kind: find_path(place, kind) for kind in KINDS}
    if not paths["marks"].is_file():
        remedy = "add marks.csv or marks.parquet"
        problems.append(Problem(str(place), None, None, "the marks table is missing", remedy))
    if not paths["readings"].is_file():
        if marks is not None and derive_readings:
            readings = _readings_from_marks(marks)
        else:
            remedy = "list every reading, also those without marks"
            problems.append(Problem(str(place), None, None, "the readings table is missing", remedy))
    names = {kind: str(path) for kind, path in paths.items()}
    if images is not None:
        problems += check_images(images, file=names["images"])
    if readings is not None:
        problems += check_readings(readings, images, file=names["readings"])
    if marks is not None:
        problems += check_marks(marks, readings, images, file=names["marks"])
    return StudyScan(marks, readings, images, _one_per_cell(problems))


def _scan_one(folder: Path, kind: str, problems: list[Problem]) -> pd.DataFrame | None:
    """Scan one table of a folder; an error becomes a problem."""
    try:
        path = find_table(folder, kind)
        if path is None:
            return None
        scan = scan_table(path, kind)
    except TableError as error:
        problems.append(_parse_problem(error, find_path(folder, kind)))
        return None
    problems += scan.problems
    return scan.frame


def _parse_problem(error: TableError, path: Path) -> Problem:
    """Problem from an error whose text begins with the file and, optionally, row and column."""
    parts = PLACE.fullmatch(str(error).removeprefix(str(path)))
    row, column, message = parts.groups() if parts else (None, None, str(error))
    return Problem(str(path), int(row) if row else None, column, message, "correct the file")


def find_path(folder: Path, kind: str) -> Path:
    """Path of a table for messages, whether it exists or not."""
    found = (folder / f"{kind}.csv", folder / f"{kind}.parquet")
    return next((path for path in found if path.is_file()), folder / kind)


def _one_per_cell(problems: Sequence[Problem]) -> list[Problem]:
    """Drop consequences of an earlier problem of the same cell."""
    first: dict[tuple[object, ...], Problem] = {}
    for number, problem in enumerate(problems):
        is_of_cell = problem.row is not None and problem.column is not None
        cell = (problem.file, problem.row, problem.column) if is_of_cell else (number,)
        first.setdefault(cell, problem)
    return list(first.values())


def write_folder(
    mark_set: MarkSet,
    folder: str | Path,
    *,
    ending: str = "csv",
    overwrite: bool = False,
    keep_images: bool = False,
) -> list[Path]:
    """Write the three tables to a folder, created if needed, all or none; return their paths.

    With ``keep_images``, an existing images table is not changed.

    Raises
    ------
    TableError
        If one of the tables exists, unless ``overwrite``; with another ending, always.
    """
    place = Path(folder)
    kinds = KINDS[:2] if keep_images else KINDS
    for kind in kinds:
        for present in (place / f"{kind}.csv", place / f"{kind}.parquet"):
            if present.exists() and not (overwrite and present.suffix == f".{ending}"):
                raise TableError(
                    f"{present}: already exists (choose another folder, remove it, or give --overwrite)"
                )
    place.mkdir(parents=True, exist_ok=True)
    names = {kind: f"{kind}.{ending}" for kind in kinds}
    return write_together(
        place, {name: (table_bytes(getattr(mark_set, kind), place / name),) for kind, name in names.items()}
    )


def combine(mark_sets: Sequence[MarkSet]) -> MarkSet:
    """Combine mark sets of several files; facts on an image that one file lacks may come from another."""
    marks, readings, images = (
        pd.concat([getattr(mark_set, kind) for mark_set in mark_sets], ignore_index=True) for kind in KINDS
    )
    readings = readings.drop_duplicates(["image_id", "reader_id"], ignore_index=True)
    images = _fill_from_same_image(images).drop_duplicates(ignore_index=True)
    if "label" in marks:
        marks["label"] = marks["label"].fillna("")
    left_out = frozenset().union(*(mark_set.left_out for mark_set in mark_sets))
    joined = MarkSet(marks, readings, images, left_out)
    raise_for_errors(check_study(joined.marks, joined.readings, joined.images, spelling=False))
    return joined


def _fill_from_same_image(images: pd.DataFrame) -> pd.DataFrame:
    """Fill the empty cells of each image from other rows of the same image."""
    known = images.mask(images == "")
    known = known.fillna(known.groupby("image_id", sort=False).transform("first"))
    numbers = [column.name for column in SCHEMAS["images"].columns if column.type == "number"]
    texts = [name for name in known.columns if name not in numbers]
    return known.assign(**{name: known[name].fillna("").astype("str") for name in texts})


WHO_READ = (
    "who read which image? Soft labels need all readings, also those without marks. Give --all-read-all if "
    "every reader read every image; --readers A,B,C if these read every image; or --readings TABLE, with a column for "
    "the image and one for the reader. Only if the rows list every reading: --derive-readings"
)


def cross_readings(
    found: MarkSet, images: Sequence[str], readers: Sequence[str] | None = None
) -> pd.DataFrame:
    """Make readings of every image by every reader (by default all in the marks), also without marks."""
    names = list(readers) if readers else list(dict.fromkeys(found.readings["reader_id"]))
    strangers = [name for name in dict.fromkeys(found.readings["reader_id"]) if name not in names]
    if strangers:
        raise UsageError(
            f"--readers {','.join(names)}: the file has marks by {quote_cell(strangers[0])} too. Add them."
        )
    pairs = [(image, reader) for image in images for reader in names]
    return pd.DataFrame(pairs, columns=["image_id", "reader_id"], dtype="str")


def read_readings(path: Path, names: ImageNames) -> pd.DataFrame:
    """Read a table of readings with columns of any obvious name; images are found by any of their names."""
    sheet = read_sheet(path)
    columns = guess_columns(sheet.header)
    for role in ("image", "reader"):
        if role not in columns.columns:
            raise TableError(
                f"{path}: has the columns {', '.join(sheet.header)}; none is clearly the {role} (name it {role!r})"
            )
    if columns.doubts:
        raise TableError(f"{path}: {columns.doubts[0]}")
    pairs: dict[tuple[str, str], None] = {}
    images, readers = (sheet.column(columns.columns[role]) for role in ("image", "reader"))
    for row, image, reader in zip(sheet.numbers, images, readers, strict=True):
        image_id = names.find(image) if image else None
        if image_id is None or not reader:
            what = f"no image {quote_cell(image)} in {names.place}" if image_id is None else "no reader"
            raise TableError(f"{path}, row {row}: {what}")
        pairs[image_id, visible_text(reader)] = None
    return pd.DataFrame(list(pairs), columns=["image_id", "reader_id"], dtype="str")


def replace_readings(found: MarkSet, readings: pd.DataFrame, source: str) -> MarkSet:
    """Replace the readings of a mark set; a mark without a reading of its image is refused."""
    known = set(zip(readings["image_id"], readings["reader_id"], strict=True))
    for image, reader in zip(found.marks["image_id"], found.marks["reader_id"], strict=True):
        if (image, reader) not in known:
            raise TableError(
                f"{source}: reader {quote_cell(reader)} marked image {quote_cell(image)} but has no reading of it"
            )
    told = replace(found, readings=readings)
    if n_out := len(readings) - len(told.readings):
        image, reader = min(
            known.difference(zip(told.readings["image_id"], told.readings["reader_id"], strict=True))
        )
        warnings.warn(
            f"{n_out} readings are skipped, such as that of image {quote_cell(image)} by reader {quote_cell(reader)}: "
            "they have shapes that were not imported, so they are not empty readings",
            DataWarning,
            stacklevel=2,
        )
    return told


FOUND_FILE = "found_files.csv"
DROPPED = "drop"
UNLISTED = "the images table that was there does not list it"
"""Reason for a file without a row in the images table."""
# Version 0.2.0 also wrote the step init for images that the user dropped; these are its reasons.
OLD_DROPS = (
    "the same pixels as",
    "one patient under",
    "a lateral view by",
    "an AP view by",
    "no chest radiograph by",
    "no two lungs side by side",
    "text burned into",
    "nobody read it",
    "taken out by hand",
    "no readable image file",
)
FOUND = Schema(
    "found files",
    (
        Column("path", "id", meaning="Path of the image file, relative to the study's folder."),
        Column(
            "step",
            "text",
            meaning="init: it could not be used; table: the images table does not list it; drop: you dropped it; "
            "empty if it is in the study.",
        ),
        Column("reason", "text", meaning="Why."),
    ),
    key=("path",),
)


def read_found(folder: Path) -> dict[str, str] | None:
    """Reason by path, empty for a file in the study; None without the table."""
    path = folder / FOUND_FILE
    if not path.is_file():
        return None
    scan = scan_file(path, FOUND)
    raise_for_errors(scan.problems)
    return dict(zip(scan.frame["path"], scan.frame["reason"], strict=True))


def read_left_out(folder: Path) -> dict[str, str]:
    """Reasons by path of the skipped images."""
    return {path: reason for path, reason in (read_found(folder) or {}).items() if reason}


def read_dropped(folder: Path) -> dict[str, str]:
    """Reasons by path of the images that the user dropped."""
    path = folder / FOUND_FILE
    if not path.is_file():
        return {}
    table = scan_file(path, FOUND).frame
    dropped = table[(table["step"] == DROPPED) | table["reason"].str.startswith(OLD_DROPS)]
    return dict(zip(dropped["path"], dropped["reason"], strict=True))


def ids_of_dropped(folder: Path) -> set[str]:
    """Former ids, by file name, of the images that the user dropped."""
    dropped = read_dropped(folder)
    paths = list(read_found(folder) or {})
    return {name for path, name in zip(paths, ids_of_files(paths), strict=True) if path in dropped}


def list_found_files(
    taken: Iterable[str], left_out: Mapping[str, str], dropped: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Write the list of files: in the images table, not usable, and dropped by the user."""
    reasons = dict.fromkeys(taken, ("", ""))
    reasons |= {
        path: ("table" if reason == UNLISTED else "init", reason) for path, reason in left_out.items()
    }
    reasons |= {path: (DROPPED, reason) for path, reason in (dropped or {}).items()}
    rows = [(path, *reasons[path]) for path in sorted(reasons)]
    return pd.DataFrame(rows, columns=["path", "step", "reason"], dtype="str")
