"""Child processes that import nothing from the user's current folder.

``python -c`` puts the current folder first: a ``numpy.py`` in a data set would run with the user's rights.
`PYTHONSAFEPATH` (Python 3.11) forbids that for a child and its children.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAFE = "PYTHONSAFEPATH"
# The folder of this package, which is the current folder in a checkout.
OWN_FOLDER = Path(__file__).resolve().parents[1]


def safe_environment(*, keep_current_folder: bool = False) -> dict[str, str]:
    """Return the environment of a child that imports what this process can import, but nothing from the current folder.

    Parameters
    ----------
    keep_current_folder
        Keep the current folder if it is in this process's path, because a user's module may be there.
    """
    entries = [entry for entry in sys.path if entry and (keep_current_folder or not _is_current(entry))]
    return {**os.environ, SAFE: "1", "PYTHONPATH": os.pathsep.join(entries)}


@contextmanager
def start_children_safely() -> Iterator[None]:
    """Protect processes that the standard library starts in this block, such as a pool's."""
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
