"""What `overread init` found and left out, counted for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from overread.marks.left_out import read_found
from overread.report.description import FoundFiles

__all__ = ["read_found_files"]


def read_found_files(folder: Path, listed: Iterable[str]) -> FoundFiles | None:
    """Count what was found; None in a folder that `init` has not been in.

    Parameters
    ----------
    folder
        Of the study.
    listed
        Paths that the images table has now; a file that was left out and is listed since is no longer left out.
    """
    reasons = read_found(folder)
    if reasons is None:
        return None
    now = set(listed)
    left_out = Counter(reason for name, reason in reasons.items() if reason and name not in now)
    return FoundFiles(
        n_found=len(reasons),
        left_out=dict(sorted(left_out.items(), key=lambda item: (-item[1], item[0]))),
        n_taken_out=sum(not reason and name not in now for name, reason in reasons.items()),
        n_added=len(now - reasons.keys()),
    )
