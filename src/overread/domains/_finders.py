"""Candidate finders by name: what a finder is, which there are, and the one way to call them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from overread.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.features import Anatomy
    from overread.images import Radiograph


DEFAULT_FINDER = "curvature"
"""Finder of studies, commands and `find_candidates`, unless told otherwise."""
# Most candidates of an image, in a study, in Python and in the commands: the default finder hits 97.8 % of the golden
# nodules of nih-240x3 with 60, 99.0 % with 100 (docs/reference/candidates.md).
DEFAULT_LIMIT = 60


class CandidateFinder(Protocol):
    """Finds the suspicious regions of one radiograph; has no memory of earlier ones."""

    name: str
    """Its name in `FINDERS`, in study.toml and in the file of a detector."""

    version: str
    """To be raised whenever the same image may give other candidates: a detector refuses another version."""

    def __call__(self, radiograph: Radiograph, anatomy: Anatomy | None, *, limit: int) -> pd.DataFrame:
        """Find at most ``limit`` candidates, as `overread.domains._scale_space.candidate_table` makes them.

        Without an anatomy the finder looks for what it needs itself (`overread.domains.chest._search`).
        """
        ...


@dataclass(frozen=True)
class FinderEntry:
    """A finder that there is.

    Parameters
    ----------
    name
        Its name in `find_candidates`, in study.toml and on the command line.
    description
        One line for people.
    place
        ``"module:class"`` in this package, imported when it is used; the class is called without arguments.
    """

    name: str
    description: str
    place: str


FINDERS: dict[str, FinderEntry] = {
    entry.name: entry
    for entry in (
        FinderEntry(
            "curvature",
            "curved in every direction, ranked by a network on what lies around",
            "_finders:CurvatureFinder",
        ),
        FinderEntry("log", "maxima of the Laplacian of Gaussian at five scales", "_finders:LogFinder"),
    )
}
"""Every finder of chests by its name."""


def find_candidates(
    radiograph: Radiograph,
    *,
    anatomy: Anatomy | None = None,
    finder: str | CandidateFinder = DEFAULT_FINDER,
    limit: int = DEFAULT_LIMIT,
) -> pd.DataFrame:
    """Find the regions of a radiograph that look most like nodules.

    Parameters
    ----------
    radiograph
        The image.
    anatomy
        Its anatomy, if it is known; else the finder looks for what it needs.
    finder
        A name in `FINDERS`, or a finder of your own.
    limit
        Most candidates to return.

    Returns
    -------
    DataFrame
        candidate_id ("0001", ...), x_mm, y_mm, radius_mm and response (higher is more suspicious), by falling
        response. It is empty where nothing is brighter than its surroundings.

    Raises
    ------
    UsageError
        If there is no finder of that name, or the limit is below 1.
    """
    if limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    chosen = load_finder(finder) if isinstance(finder, str) else finder
    return chosen(radiograph, anatomy, limit=limit)


def load_finder(name: str) -> CandidateFinder:
    """Import a finder by its name in `FINDERS`."""
    entry = FINDERS.get(name)
    if entry is None:
        raise UsageError(f"no candidate finder {name!r}; there are {', '.join(FINDERS)}")
    module, _, attribute = entry.place.partition(":")
    finder: CandidateFinder = getattr(import_module(f"overread.domains.chest.{module}"), attribute)()
    return finder
