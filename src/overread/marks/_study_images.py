"""The images of the target study of an import: imported marks get their ids.

It also checks that the image files of an images table exist, without opening them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from overread.errors import DataWarning, TableError
from overread.marks._file_names import ImageNames, ids_of_files
from overread.marks._mark_set import FOUND_FILE, MarkSet, read_left_out
from overread.tables import (
    SCHEMAS,
    Column,
    Problem,
    Schema,
    quote_cell,
    raise_for_errors,
    read_table,
    scan_file,
)

# An images table whose rows may be identified by their files.
LISTED = Schema("images", (Column("file", "id", required=False), *SCHEMAS["images"].columns[1:]), key=())


@dataclass(frozen=True)
class StudyImages:
    """Images table of a study, its file for messages, and the reasons by path of skipped files."""

    table: pd.DataFrame
    place: str
    left_out: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> StudyImages:
        """Read an images table and the table of skipped files in its folder."""
        return cls(read_image_list(path), str(path), read_left_out(path.parent))

    @property
    def names(self) -> ImageNames:
        """Images of the table, found by any of their names."""
        paths = self.table["path"] if "path" in self.table else [""] * len(self.table)
        return ImageNames(dict(zip(self.table["image_id"], paths, strict=True)), self.place)

    def adopt(self, found: MarkSet, *, drop_unknown: bool = False) -> MarkSet:
        """Give imported marks the ids of the table; marks on skipped images are skipped too."""
        ids = self.names.find_all([*found.images["image_id"], *sorted(image for image, _ in found.left_out)])
        path_of = dict(zip(ids_of_files(list(self.left_out)), self.left_out, strict=True))
        gone = ImageNames(path_of, FOUND_FILE)
        strange = [image for image in found.images["image_id"] if image not in ids]
        known = {image: path_of[name] for image in strange if (name := gone.find(image)) is not None}
        unknown = [image for image in strange if image not in known]
        if unknown and not drop_unknown:
            raise TableError(
                f"{self.place}: no image has the name {quote_cell(unknown[0])}"
                f"{f' ({len(unknown)} such images)' if len(unknown) > 1 else ''} (put the files in the folder and "
                "run overread init again, or skip their marks with --drop-unknown)"
            )
        if strange:
            warnings.warn(self._left_out_text(found, strange, known), DataWarning, stacklevel=2)
        return _rename_images(found, ids)

    def _left_out_text(self, found: MarkSet, strange: Sequence[str], known: dict[str, str]) -> str:
        """Describe the images of a file that are not in the study, with reasons if known."""
        n_marks = int(found.marks["image_id"].isin(list(strange)).sum())
        told = [f"{quote_cell(image)} ({self.left_out[path]})" for image, path in known.items()]
        told += [f"{quote_cell(image)} (not in {self.place})" for image in strange if image not in known]
        more = f" and {len(told) - 5} more" if len(told) > 5 else ""
        return (
            f"skipped {n_marks} marks on {len(strange)} images outside the study: {', '.join(told[:5])}{more}"
        )


def read_image_list(path: Path) -> pd.DataFrame:
    """Read a user's table of images, identified by image_id, path or file."""
    scan = scan_file(path, LISTED)
    table = scan.frame
    if "image_id" in table:
        return read_table(path, "images")
    raise_for_errors(scan.problems)
    column = next((name for name in ("path", "file") if name in table), None)
    if column is None:
        raise TableError(f"{path}, row 1: no column identifies the images (name it image_id, path or file)")
    names = table[column].tolist()
    wrong = (table[column].duplicated() | (table[column] == "")).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        reason = f"{quote_cell(names[row])} occurs twice" if names[row] else "is empty"
        raise TableError(f"{path}, row {row + 2}, column {column}: {reason} (give each image one row)")
    listed = table.drop(columns=column)
    listed.insert(0, "image_id", pd.Series(ids_of_files(names), index=table.index, dtype="str"))
    return listed.assign(path=table[column].astype("str"))


def _rename_images(found: MarkSet, ids: dict[str, str]) -> MarkSet:
    """Change the ids of marks, readings and images; those without an id are dropped."""

    def renamed(table: pd.DataFrame) -> pd.DataFrame:
        kept = table[table["image_id"].isin(list(ids))].reset_index(drop=True)
        return kept.assign(image_id=kept["image_id"].map(ids).astype("str"))

    left_out = frozenset((ids[image], reader) for image, reader in found.left_out if image in ids)
    return MarkSet(renamed(found.marks), renamed(found.readings), renamed(found.images), left_out)


def with_ids_of_files(found: Sequence[MarkSet]) -> list[MarkSet]:
    """Give the images of several files the ids that `overread init` would give their image files."""
    read = [image for part in found for image in part.images["image_id"]]
    names = list(dict.fromkeys([*read, *sorted(image for part in found for image, _ in part.left_out)]))
    ids = dict(zip(names, ids_of_files(names), strict=True))
    return [_rename_images(part, ids) for part in found]


REMEDY = "if the images are needed, correct the path, or let `overread init` find the files by their names"


def check_image_files(images: pd.DataFrame, folder: Path, *, file: str = "images") -> list[Problem]:
    """Return warnings about paths of an images table without a file, and about rows without a path."""
    if "path" not in images:
        remedy = "add the column path, relative to the study's folder"
        return [Problem(file, None, "path", "no image can be opened", remedy, "warning")]
    problems: list[Problem] = []

    def warn(row: int | None, message: str) -> None:
        problems.append(Problem(file, row, "path", message, REMEDY, "warning"))

    named = {row: name for row, name in enumerate(images["path"], start=2) if name}
    without = [row for row, name in enumerate(images["path"], start=2) if not name]
    if without:
        warn(without[0], f"{len(without)} of {len(images)} images have no path")
    missing = [row for row, name in named.items() if not (folder / name).is_file()]
    if len(missing) == len(named) > 1:
        name = PurePosixPath(next(iter(named.values()))).name
        warn(None, f"none of {len(named)} files exists, such as {name!r}")
        return problems
    # Only a warning: marks can be merged without pixels, and annotation tools export other paths.
    for row in missing:
        warn(row, f"{quote_cell(named[row])} does not exist")
    return problems
