"""Copy studies, compare the folders of their runs."""

import shutil
from pathlib import Path

# Times, machine, process numbers: all that may differ between two runs with the same results.
TELLS_OF_THE_RUN = {"run.log", "provenance.json", "lock", "file_digests.json"}


def copied(original: Path, copy: Path, *, run: bool) -> Path:
    """Copy a study, with its run or without."""
    ignored = () if run else ("runs", "reader_codes.csv")
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns(*ignored))
    return copy


def content(run: Path) -> dict[str, bytes]:
    """Bytes of every file of a run that its inputs alone decide."""
    return {
        path.relative_to(run).as_posix(): path.read_bytes()
        for path in sorted(run.rglob("*"))
        if path.is_file() and path.name not in TELLS_OF_THE_RUN
    }


def same(first: Path, second: Path) -> bool:
    """Whether two runs hold the same bytes; the names of what differs are printed."""
    one, two = content(first), content(second)
    differing = [name for name in {*one, *two} if one.get(name) != two.get(name)]
    print("differ:", sorted(differing))
    return not differing
