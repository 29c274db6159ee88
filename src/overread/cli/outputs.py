"""Files that a command writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from overread.errors import UsageError

__all__ = ["refuse_to_overwrite"]


def refuse_to_overwrite(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write where an input is; results of an earlier run are replaced."""
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise UsageError(f"{path}: is one of the files to read; choose another place for the results")
