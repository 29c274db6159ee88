"""Find the marks and readings that a command works on."""

from __future__ import annotations

from pathlib import Path

from overread.cli.conventions import print_warnings
from overread.errors import UsageError
from overread.marks.mark_set import MarkSet, images_from_readings, read_folder
from overread.tables.table_files import read_table

__all__ = ["load_marks"]


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
