"""What is wrong with a table, where, and what to do about it."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from overread.errors import LeakageError, TableError

Severity = Literal["error", "warning", "leakage"]

# What differs between problems of one kind: quoted names, and numbers.
VALUE = re.compile(r"'[^']*'|[-+]?\d[\d.,]*(?:e[-+]?\d+)?")
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


def raise_for_errors(problems: Iterable[Problem]) -> list[Problem]:
    """Raise one error that names the first few kinds, or return the warnings."""
    found = list(problems)
    errors = [problem for problem in found if problem.severity == "error"]
    leaks = [problem for problem in found if problem.severity == "leakage"]
    if errors:
        raise TableError(summary(errors))
    if leaks:
        raise LeakageError(summary(leaks))
    return found


def raise_or_warn(problems: Iterable[Problem]) -> None:
    """Raise as `raise_for_errors` does; where there are only warnings, give one of each kind."""
    for remark in one_per_kind(raise_for_errors(problems)):
        warnings.warn(str(remark), stacklevel=3)


def one_per_kind(problems: Iterable[Problem]) -> list[Problem]:
    """Join problems that differ only in row, number and quoted name: the first of them, with the number of rows."""
    kinds: dict[tuple[str | None, ...], list[Problem]] = {}
    for problem in problems:
        kind = VALUE.sub("", problem.message)
        key = (problem.file, problem.column, kind, problem.remedy, problem.severity)
        kinds.setdefault(key, []).append(problem)
    return [
        replace(same[0], message=f"{same[0].message}, and {len(same) - 1:,} more like it")
        if len(same) > 1
        else same[0]
        for same in kinds.values()
    ]


def summary(problems: Sequence[Problem]) -> str:
    """Text of the first few kinds of problems, and the number of the others."""
    kinds = one_per_kind(problems)
    lines = [str(problem) for problem in kinds[:SHOWN]]
    if len(kinds) > SHOWN:
        lines.append(
            f"... and {len(kinds) - SHOWN} more kinds of problem (`overread check` lists all of a study)"
        )
    return "\n".join(lines)
