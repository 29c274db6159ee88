"""What all commands agree on: an exit code, seeds, files that are not overwritten, and how they speak.

Nothing heavy is imported here: `--help` of every command does.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from overread.errors import UsageError
from overread.files.regular import real_path
from overread.screen import make_console, print_text

if TYPE_CHECKING:
    from rich.table import Table

    from overread.study.detector import Detector
    from overread.study.study_recipe import StudyRecipe

__all__ = [
    "WITH_BAD_IMAGES",
    "check_seed",
    "fold_cells",
    "open_detector",
    "open_recipe",
    "print_plain",
    "print_warnings",
    "refuse_to_overwrite",
]

WITH_BAD_IMAGES = 3
"""Exit code: the work is done, but some images could not be used. Those of errors are in `overread.errors`."""

# numpy.random.RandomState, behind scikit-learn's random_state, takes 32 bits.
LARGEST_SEED = 2**32 - 1


def check_seed(seed: int) -> int:
    """Return the seed, and refuse one that not every random generator takes."""
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(f"--seed {seed}: need a whole number from 0 to {LARGEST_SEED}")
    return seed


def refuse_to_overwrite(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse to write where an input is; results of an earlier run are replaced."""
    read = {real_path(path) for path in inputs}
    for path in outputs:
        if real_path(path) in read:
            raise UsageError(f"{path}: is one of the files to read; choose another place for the results")


def open_detector(place: Path) -> Detector:
    """Read a detector from its file, or from the folder of the run that made it."""
    from overread.study.detector import Detector
    from overread.study.groups import read_groups

    groups = read_groups(place)
    if groups:
        named = ", ".join(str(folder) for folder in groups.values())
        raise UsageError(f"{place}: each group of labels has a detector of its own; name one of {named}")
    return Detector.read(place / "detector.json" if place.is_dir() else place)


def open_recipe(study: Path, group: str | None) -> StudyRecipe | None:
    """Read how a study's pictures are worked on, with the warnings about its tables; None for one of chests."""
    from overread.study.study_recipe import read_study_recipe

    with print_warnings():
        return read_study_recipe(study, group)


def print_plain(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print text as it is: paths and ids may look like markup, and a line is never broken."""
    make_console(stderr=stderr).print(text, style=style, markup=False, soft_wrap=True)


def fold_cells(table: Table) -> Table:
    """Return the table, with cells that go on in the next line where the terminal is narrow: nothing is left out."""
    for column in table.columns:
        column.overflow = "fold"
    return table


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of the work inside on standard error, one line each, and none twice."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print_text(f"overread: warning: {message}", stderr=True)
