"""How many readers and cases a reader study needs, from the variance components of a pilot.

A study of J readers and K cases, when the pilot had K* cases: error variance and covariances fall as one over the
number of cases, the interaction of modality and reader stays. With s = max(Cov2 - Cov3, 0), V = max(variance of the
interaction, 0) and r = K* / K, the mean square of the interaction is expected to be M = V + r (Var - Cov1 - s), and the
difference d of two modalities is tested against the error term D with

=====================  ===================================  ===============  ====================
what is random         D                                    noncentrality    degrees of freedom
=====================  ===================================  ===============  ====================
readers and cases      M + J r s                            J d^2 / (2 D)    (J - 1) (D / M)^2
readers only           M                                    J d^2 / (2 D)    J - 1
cases only             r (Var - Cov1 + (J - 1) s)           J d^2 / (2 D)    infinite
=====================  ===================================  ===============  ====================

Power is the chance that a noncentral F(1, df) exceeds the quantile of the central one. The error term and the degrees
of freedom are those of :mod:`overread.froc.merit._multi_reader`. References: Hillis, Obuchowski and Berbaum
2011 (Acad. Radiol. 18:129); Hillis and Schartz 2018 (J. Med. Imaging 5:045503).

Read the ratings of a reader study from two CSV tables.

The cases table has a row for every lesion, ``case_id, lesion_id``, and one with an empty ``lesion_id`` for every case
without lesions. The ratings table has a row for every mark, ``modality, reader, case_id, lesion_id, rating``, with an
empty ``lesion_id`` where the mark is a false positive. Of several marks on one lesion, and of several false positives
of one case, the highest rating counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from pathlib import Path
from typing import get_args

import numpy as np
from scipy.special import chdtri, chndtr, fdtri, ncfdtr

from overread.errors import InvalidInputError, TableError
from overread.froc import (
    LEVEL,
    CaseRatings,
    RandomEffects,
    ReaderStudy,
    VarianceComponents,
    check_level,
    t_quantile,
)
from overread.tables import read_cells, unguard_formula

# More cases than any reader study has; set by judgement.
MOST_CASES = 1_000_000


@dataclass(frozen=True, slots=True)
class ReaderPilot:
    """Variance components of a pilot reader study with two modalities or more.

    Attributes
    ----------
    components
        Variance components of the Obuchowski-Rockette model; the variance of the readers cancels in differences.
    n_cases
        Number of cases of the pilot (patients, if these were left out together).
    """

    components: VarianceComponents
    n_cases: int

    def __post_init__(self) -> None:
        known = self.components
        needed = (known.modality_reader, known.error, known.cov1, known.cov2, known.cov3)
        if not all(map(isfinite, needed)):
            raise InvalidInputError("the pilot's variance components must be finite numbers")
        if self.n_cases < 2:
            raise InvalidInputError(f"n_cases={self.n_cases}: a pilot needs at least two")
        if known.error - known.cov1 - self._shared <= 0:
            raise InvalidInputError(
                "the pilot's error variance is no larger than Cov1 + max(Cov2 - Cov3, 0): "
                "so no error between two readings is left. Check the components."
            )

    @property
    def _shared(self) -> float:
        return max(self.components.cov2 - self.components.cov3, 0.0)

    def error_term(
        self, readers: int, cases: float, random: RandomEffects = "readers and cases"
    ) -> tuple[float, float]:
        """Error term D of a study of this size, and its degrees of freedom."""
        if random not in get_args(RandomEffects):
            raise InvalidInputError(
                f"unknown random={random!r}: give one of {', '.join(map(repr, get_args(RandomEffects)))}"
            )
        if readers < (1 if random == "cases" else 2):
            raise InvalidInputError(
                f"{readers} reader(s) cannot represent other readers. Plan at least two, or random='cases'."
            )
        if not cases > 0:
            raise InvalidInputError(f"cases={cases}: give a number above 0")
        known, ratio = self.components, self.n_cases / cases
        if random == "cases":
            return ratio * (known.error - known.cov1 + (readers - 1) * self._shared), inf
        interaction = max(known.modality_reader, 0.0) + ratio * (known.error - known.cov1 - self._shared)
        if random == "readers":
            return interaction, readers - 1.0
        error = interaction + readers * ratio * self._shared
        return error, (readers - 1) * (error / interaction) ** 2 if interaction else readers - 1.0

    def power(
        self,
        readers: int,
        cases: float,
        difference: float,
        *,
        random: RandomEffects = "readers and cases",
        level: float = LEVEL,
    ) -> float:
        """Probability that the study distinguishes two modalities that differ by ``difference``."""
        error, df = self.error_term(readers, cases, random)
        noncentrality = readers * difference**2 / 2 / error
        if df == inf:
            return float(1 - chndtr(chdtri(1, 1 - check_level(level)), 1, noncentrality))
        return float(1 - ncfdtr(1, df, noncentrality, fdtri(1, df, check_level(level))))

    def half_width(
        self,
        readers: int,
        cases: float,
        *,
        random: RandomEffects = "readers and cases",
        level: float = LEVEL,
    ) -> float:
        """Half the width of the interval of the difference of two modalities, t sqrt(2 D / J)."""
        error, df = self.error_term(readers, cases, random)
        return t_quantile((1 + check_level(level)) / 2, df) * sqrt(2 * error / readers)

    def cases_for_power(
        self,
        readers: int,
        difference: float,
        *,
        power: float = 0.8,
        random: RandomEffects = "readers and cases",
        level: float = LEVEL,
    ) -> int | None:
        """Fewest cases with which the study has this power; None if more readers are needed."""
        if not (isfinite(difference) and difference):
            raise InvalidInputError(f"difference={difference}: give a number other than 0, such as 0.05")
        if not 1 - check_level(level) < power < 1:
            raise InvalidInputError(f"power={power}: give a number between {1 - level:g} and 1, such as 0.8")
        return _fewest(
            lambda cases: self.power(readers, cases, difference, random=random, level=level) >= power
        )

    def cases_for_half_width(
        self,
        readers: int,
        half_width: float,
        *,
        random: RandomEffects = "readers and cases",
        level: float = LEVEL,
    ) -> int | None:
        """Fewest cases with which the difference's interval has half this width; None if more readers are needed."""
        if not half_width > 0:
            raise InvalidInputError(f"half_width={half_width}: give a number above 0, such as 0.05")
        return _fewest(
            lambda cases: self.half_width(readers, cases, random=random, level=level) <= half_width
        )


def pilot_readers(study: ReaderStudy) -> ReaderPilot:
    """Make a pilot from the variance components of a reader study."""
    if study.components is None or study.n_cases is None:
        raise InvalidInputError(
            "the reader study lacks the covariance over cases or the number of cases; a plan needs both"
        )
    return ReaderPilot(study.components, study.n_cases)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """Return the smallest sufficient number of cases, or None.

    More cases are not always better: as the error over cases falls, so do the degrees of freedom, and with few readers
    the quantile rises faster than the error term falls. So numbers are tried upwards in steps of a fiftieth, and the
    first sufficient one is refined.
    """
    low, high = 0, 1
    while not enough(high):
        low, high = high, max(high + 1, high + high // 50)
        if high > MOST_CASES:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


CASE_COLUMNS = ("case_id", "lesion_id")
RATING_COLUMNS = ("modality", "reader", "case_id", "lesion_id", "rating")


def read_reader_study(ratings: Path, cases: Path) -> dict[str, dict[str, CaseRatings]]:
    """Return ``ratings[modality][reader]``, as :func:`~overread.froc.merit._multi_reader` takes them.

    A TableError names a row with an empty column, or with a case or lesion that is not in the cases table.
    """
    places, lesions = _read_cases(cases)
    marked: dict[str, dict[str, CaseRatings]] = {}
    for row, (modality, reader, case, lesion, rating) in _rows(ratings, RATING_COLUMNS):
        where = f"{ratings}, row {row}"
        if not (modality and reader):
            raise TableError(f"{where}: modality or reader is empty. Fill in both in every row.")
        if lesion and (case, lesion) not in lesions:
            raise TableError(f"{where}: {cases} has no lesion {lesion!r} of case {case!r}. Add it there.")
        if case not in places:
            raise TableError(f"{where}: {cases} has no case {case!r}. Add it there.")
        by_reader = marked.setdefault(modality, {})
        if reader not in by_reader:
            by_reader[reader] = CaseRatings(
                highest_fp=np.full(len(places), -np.inf),
                lesion_case=np.array([places[of] for of, _ in lesions], dtype=np.intp),
                lesion_rating=np.full(len(lesions), -np.inf),
            )
        reading = by_reader[reader]
        values = reading.lesion_rating if lesion else reading.highest_fp
        place = lesions[case, lesion] if lesion else places[case]
        values[place] = max(values[place], _number(rating, where))
    return marked


def _read_cases(path: Path) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """Position of each case, and of each lesion of a case."""
    places: dict[str, int] = {}
    lesions: dict[tuple[str, str], int] = {}
    for row, (case, lesion) in _rows(path, CASE_COLUMNS):
        if not case:
            raise TableError(f"{path}, row {row}: case_id is empty. Fill it in.")
        if (case, lesion) in lesions:
            raise TableError(
                f"{path}, row {row}: lesion {lesion!r} of case {case!r} is listed twice. Delete one row."
            )
        places.setdefault(case, len(places))
        if lesion:
            lesions[case, lesion] = len(lesions)
    return places, lesions


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Row number and the wanted cells of every row."""
    cells = read_cells(path)
    missing = [name for name in columns if name not in cells.header]
    if missing:
        raise TableError(f"{path}, row 1: no column {', '.join(missing)}; needed: {', '.join(columns)}")
    wanted = [cells.header.index(name) for name in columns]
    for row, record in enumerate(cells.rows, start=2):
        yield row, [unguard_formula(record[place]).strip() for place in wanted]


def _number(cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise TableError(f"{where}, column rating: {cell!r} is not a finite number. Correct it.")
    return value
