"""What is wrong with a table, where, and what to do about it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from overread.errors import LeakageError, TableError

__all__ = ["Problem", "Severity", "raise_for_errors", "raise_or_warn"]

Severity = Literal["error", "warning", "leakage"]

SHOWN = 5


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a table.

    Parameters
    ----------
    file : str
        File, or the table's kind for a data frame that came from no file.
    row : int or None
        Row as a spreadsheet counts: the header is row 1, the first record row 2. None where the whole table
        is meant.
    column : str or None
        Column, where one is to blame.
    message : str
        What is wrong.
    remedy : str
        What to do about it.
    severity : {"error", "warning", "leakage"}
        A warning leaves the table usable; leakage is an error with its own exit code.
    """

    file: str
    row: int | None
    column: str | None
    message: str
    remedy: str
    severity: Severity = "error"

    def __str__(self) -> str:
        place = self.file
        if self.row is not None:
            place += f", row {self.row}"
        if self.column is not None:
            place += f", column {self.column}"
        return f"{place}: {self.message} ({self.remedy})"

    def as_dict(self) -> dict[str, str | int | None]:
        """Fields by name, for JSON."""
        return asdict(self)


def raise_for_errors(problems: Iterable[Problem], *, stored: bool = True) -> list[Problem]:
    """Raise one error that names the first few, or return the warnings.

    Parameters
    ----------
    problems : iterable of Problem
        What was found.
    stored : bool
        Whether the tables are files, so that ``overread check`` can list the others.

    Raises
    ------
    TableError
        If any problem is an error.
    LeakageError
        If the only errors are patients or pixels in two splits.
    """
    found = list(problems)
    errors = [problem for problem in found if problem.severity == "error"]
    leaks = [problem for problem in found if problem.severity == "leakage"]
    if errors:
        raise TableError(summary(errors, stored=stored))
    if leaks:
        raise LeakageError(summary(leaks, stored=stored))
    return found


def raise_or_warn(problems: Iterable[Problem], *, stored: bool = True) -> None:
    """Raise as `raise_for_errors` does; where there are only warnings, give one that names the first few."""
    remarks = raise_for_errors(problems, stored=stored)
    if remarks:
        warnings.warn(summary(remarks), stacklevel=3)


def summary(problems: Sequence[Problem], *, stored: bool = True) -> str:
    """Text of the first few problems and the number of the others."""
    lines = [str(problem) for problem in problems[:SHOWN]]
    if len(problems) > SHOWN:
        where = "; `overread check` lists them all" if stored else ""
        lines.append(f"... and {len(problems) - SHOWN} more{where}")
    return "\n".join(lines)
