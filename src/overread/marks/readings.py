"""Who read what, where the marks do not tell it: everybody everything, some readers everything, or a table.

A reader who read an image and marked nothing stands in no row of a list of marks, and soft labels count him.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from overread.errors import DataWarning, TableError, UsageError
from overread.marks.file_names import ImageNames
from overread.marks.formats.sheet_columns import guess_columns
from overread.marks.mark_set import MarkSet
from overread.tables.cell_types import quote_cell
from overread.tables.sheet_cells import read_sheet
from overread.tables.spelling import visible_text

__all__ = ["WHO_READ", "cross_readings", "read_readings", "replace_readings"]

WHO_READ = (
    "who read which image? Soft labels need to know it, also who read one and marked nothing. Say --all-read-all if "
    "every reader read every image; --readers A,B,C if these read every image; or --readings TABLE, with a column for "
    "the image and one for the reader. Only where the rows already list every reading: --derive-readings"
)


def cross_readings(
    found: MarkSet, images: Sequence[str], readers: Sequence[str] | None = None
) -> pd.DataFrame:
    """Every reader read every image.

    Parameters
    ----------
    found : MarkSet
        Marks, and readings as far as they are known.
    images : sequence of str
        All images that were read, also those without marks.
    readers : sequence of str
        The readers; without them, those who occur.
    """
    names = list(readers) if readers else list(dict.fromkeys(found.readings["reader_id"]))
    strangers = [name for name in dict.fromkeys(found.readings["reader_id"]) if name not in names]
    if strangers:
        raise UsageError(f"--readers {','.join(names)}: the file has marks of {quote_cell(strangers[0])} too")
    pairs = [(image, reader) for image in images for reader in names]
    return pd.DataFrame(pairs, columns=["image_id", "reader_id"], dtype="str")


def read_readings(path: Path, names: ImageNames) -> pd.DataFrame:
    """Read a table of readings with columns of any obvious name; images are found by whatever they are called.

    Parameters
    ----------
    path : Path
        CSV, TSV or XLSX with a column for the image and one for the reader.
    names : ImageNames
        The images.
    """
    sheet = read_sheet(path)
    columns = guess_columns(sheet.header)
    for role in ("image", "reader"):
        if role not in columns.columns:
            raise TableError(
                f"{path}: has the columns {', '.join(sheet.header)}; none is plainly the {role} (name it {role!r})"
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
    """Give a mark set other readings; a mark by somebody who did not read its image is refused.

    Warns
    -----
    DataWarning
        With the number of these readings that stay out, since the import left them out.
    """
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
            f"{n_out} readings stay out, such as that of image {quote_cell(image)} by reader {quote_cell(reader)}: "
            "what the import left out of them may be a finding, and is not the same as nothing found",
            DataWarning,
            stacklevel=2,
        )
    return told
