"""Which run a page shows: the study's name, the run's name, its id and its date."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from overread.files.digests import digest_of_value

__all__ = ["RunHead", "head_run"]

# 48 bits: enough to tell the runs of a laboratory apart, short enough to be read out.
ID_DIGITS = 12


@dataclass(frozen=True)
class RunHead:
    """What stands at the top of the page.

    Attributes
    ----------
    study, run
        Names.
    id
        Begins the SHA-256 of the results: the same results have the same id.
    date
        Day (UTC) on which the results were computed, as 2026-01-31.
    """

    study: str
    run: str
    id: str
    date: str


def head_run(study: str, run: str, results: Any) -> RunHead:
    """Name a run by its results; the date is today, or that of ``SOURCE_DATE_EPOCH`` where this is set.

    Parameters
    ----------
    study, run
        Names.
    results
        The content of ``results.json``.
    """
    return RunHead(study, run, digest_of_value(results)[:ID_DIGITS], _today())


def _today() -> str:
    """Return the day; who builds reproducibly fixes it (reproducible-builds.org, SOURCE_DATE_EPOCH)."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    return now.date().isoformat()
