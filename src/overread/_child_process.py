"""Child processes that import nothing from the folder where the user happens to stand.

``python -c`` puts the current folder before everything else: a data set that brings a ``numpy.py`` would run it with
the user's rights. `PYTHONSAFEPATH` (Python 3.11) forbids that, for a child and for all that it starts itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAFE = "PYTHONSAFEPATH"
# Where this package itself lies; the current folder may be that, in a checkout.
OWN_FOLDER = Path(__file__).resolve().parents[1]


def safe_environment(*, keep_current_folder: bool = False) -> dict[str, str]:
    """Return the environment of a child that finds what this process finds, but nothing in the current folder.

    Parameters
    ----------
    keep_current_folder
        Leave the folder in the path where this process has it: for a user's own module, which may lie there.
    """
    entries = [entry for entry in sys.path if entry and (keep_current_folder or not _is_current(entry))]
    return {**os.environ, SAFE: "1", "PYTHONPATH": os.pathsep.join(entries)}


@contextmanager
def start_children_safely() -> Iterator[None]:
    """Let processes that the standard library starts meanwhile, such as a pool's, be safe too."""
    before = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE]
        else:
            os.environ[SAFE] = before


def _is_current(entry: str) -> bool:
    folder = Path(entry).resolve()
    return folder == Path.cwd() and folder != OWN_FOLDER
