"""Finders of pictures by name: the package's own, and those that other packages bring.

Another package brings one by an entry point of the group ``overread.field_finders`` whose value is a class. It is
called with polarity, smallest_mm and largest_mm, as `BlobFinder` is; what it makes has a name, a version, and finds
candidates when it is called with a picture and a limit.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, cast

from overread.errors import UsageError
from overread.fields.blob_finder import BlobFinder, Polarity

if TYPE_CHECKING:
    import pandas as pd

    from overread.fields.field_image import FieldImage

__all__ = ["FIELD_FINDERS", "FieldFinder", "list_field_finders", "load_field_finder"]

FIELD_FINDERS = "overread.field_finders"
"""Group of the entry points."""


class FieldFinder(Protocol):
    """Finds the suspicious places of one picture; has no memory of earlier ones."""

    @property
    def name(self) -> str:
        """Its name in study.toml and in the file of a detector: that of the entry point."""
        ...

    @property
    def version(self) -> str:
        """To be raised whenever the same picture may give other candidates: a detector refuses another version."""
        ...

    def __call__(self, field: FieldImage, *, limit: int) -> pd.DataFrame:
        """Find at most ``limit`` candidates, as `overread.candidates.table.candidate_table` makes them."""
        ...


def list_field_finders() -> list[str]:
    """Names of the finders that there are, the package's own first."""
    return [
        BlobFinder.name,
        *sorted({one.name for one in entry_points(group=FIELD_FINDERS)} - {BlobFinder.name}),
    ]


def load_field_finder(name: str, *, polarity: Polarity, smallest_mm: float, largest_mm: float) -> FieldFinder:
    """Make a finder by its name.

    Raises
    ------
    UsageError
        If there is none of this name, or it calls itself by another.
    """
    if name == BlobFinder.name:
        return BlobFinder(polarity, smallest_mm, largest_mm)
    for entry in entry_points(group=FIELD_FINDERS):
        if entry.name == name:
            made = cast(
                FieldFinder,
                entry.load()(polarity=polarity, smallest_mm=smallest_mm, largest_mm=largest_mm),
            )
            if made.name != name:
                raise UsageError(f"the finder {name!r} calls itself {made.name!r}; give both the same name")
            return made
    raise UsageError(f"no finder {name!r} of pictures; there are {', '.join(list_field_finders())}")
