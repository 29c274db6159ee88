"""Problems of tables: what is wrong, where, and what to do."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from overread.errors import LeakageError, TableError

Severity = Literal["error", "warning", "leakage"]

# Parts that differ between problems of one kind: quoted names and numbers.
VALUE = re.compile(r"'[^']*'|[-+]?\d[\d.,]*(?:e[-+]?\d+)?")
SHOWN = 5


@dataclass(frozen=True)
class Problem:
    """One problem of a table.

    Parameters
    ----------
    file : str
        File, or the table's kind for a data frame without a file.
    row : int or None
        Row as in a spreadsheet: the header is row 1, the first record row 2. None for the whole table.
    column : str or None
        Column of the problem, if there is one.
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
    """Raise as `raise_for_errors` does; if there are only warnings, give one warning per kind."""
    for remark in one_per_kind(raise_for_errors(problems)):
        warnings.warn(str(remark), stacklevel=3)


def one_per_kind(problems: Iterable[Problem]) -> list[Problem]:
    """Combine problems that differ only in row, number and quoted name: the first one, with a count."""
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
