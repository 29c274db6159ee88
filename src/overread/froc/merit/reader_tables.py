"""Read the ratings of a reader study from two CSV tables.

The cases table has a row for every lesion, ``case_id, lesion_id``, and one with an empty ``lesion_id`` for every case
without lesions. The ratings table has a row for every mark, ``modality, reader, case_id, lesion_id, rating``, with an
empty ``lesion_id`` where the mark is a false positive. Of several marks on one lesion, and of several false positives
of one case, the highest rating counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from overread.errors import TableError
from overread.froc.merit.figures_of_merit import CaseRatings
from overread.tables.csv_cells import read_cells, unguard_formula

__all__ = ["read_reader_study"]

CASE_COLUMNS = ("case_id", "lesion_id")
RATING_COLUMNS = ("modality", "reader", "case_id", "lesion_id", "rating")


@dataclass(frozen=True)
class _Cases:
    """Position of each case, and of each lesion; the case of each lesion."""

    places: dict[str, int]
    lesions: dict[tuple[str, str], int]

    def lesion_cases(self) -> list[int]:
        return [self.places[case] for case, _ in self.lesions]


def read_reader_study(ratings: Path, cases: Path) -> dict[str, dict[str, CaseRatings]]:
    """Return ``ratings[modality][reader]``, as :func:`~overread.froc.merit.reader_study` takes them.

    Raises
    ------
    TableError
        If a table lacks a column, or a row names a case or lesion that the cases table has not.
    """
    known = _read_cases(cases)
    marked: dict[str, dict[str, CaseRatings]] = {}
    for row, (modality, reader, case, lesion, rating) in _rows(ratings, RATING_COLUMNS):
        if not (modality and reader):
            raise TableError(f"{ratings}, row {row}: modality or reader is empty (name both in every row)")
        reading = marked.setdefault(modality, {}).setdefault(reader, _unmarked(known))
        if lesion and (case, lesion) not in known.lesions:
            raise TableError(
                f"{ratings}, row {row}: {cases} has no lesion {lesion!r} of case {case!r} (add it there)"
            )
        if case not in known.places:
            raise TableError(f"{ratings}, row {row}: {cases} has no case {case!r} (add it there)")
        if lesion:
            values, place = reading.lesion_rating, known.lesions[case, lesion]
        else:
            values, place = reading.highest_fp, known.places[case]
        values[place] = max(values[place], _number(rating, ratings, row))
    return marked


def _read_cases(path: Path) -> _Cases:
    places: dict[str, int] = {}
    lesions: dict[tuple[str, str], int] = {}
    for row, (case, lesion) in _rows(path, CASE_COLUMNS):
        if not case:
            raise TableError(f"{path}, row {row}: case_id is empty (name the case)")
        if (case, lesion) in lesions:
            raise TableError(
                f"{path}, row {row}: lesion {lesion!r} of case {case!r} is there twice (drop one)"
            )
        places.setdefault(case, len(places))
        if lesion:
            lesions[case, lesion] = len(lesions)
    return _Cases(places, lesions)


def _unmarked(known: _Cases) -> CaseRatings:
    return CaseRatings(
        highest_fp=np.full(len(known.places), -np.inf),
        lesion_case=np.array(known.lesion_cases(), dtype=np.intp),
        lesion_rating=np.full(len(known.lesions), -np.inf),
    )


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Row number and the wanted cells of every row."""
    cells = read_cells(path)
    missing = [name for name in columns if name not in cells.header]
    if missing:
        raise TableError(f"{path}, row 1: no column {', '.join(missing)} (it needs {', '.join(columns)})")
    wanted = [cells.header.index(name) for name in columns]
    for row, record in enumerate(cells.rows, start=2):
        yield row, [unguard_formula(record[place]).strip() for place in wanted]


def _number(cell: str, path: Path, row: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise TableError(f"{path}, row {row}, column rating: {cell!r} is not a finite number (give one)")
    return value
