"""Candidate finders by name: what a finder is, which there are, and the one way to call them.

Another package brings one by an entry point of the group ``overread.finders.<domain>`` whose value is a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from overread.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

    from overread.features import Anatomy
    from overread.images import Radiograph


DEFAULT_FINDER = "curvature"
"""Default finder of studies, commands and `find_candidates`."""
# Most candidates of an image, in a study, in Python and in the commands: the default finder hits 97.8 % of the golden
# nodules of nih-240x3 with 60, 99.0 % with 100 (docs/reference/candidates.md).
DEFAULT_LIMIT = 60
ENTRY_POINTS = "overread.finders"
"""Beginning of the groups of entry points; the name of the domain follows after a dot."""


class CandidateFinder(Protocol):
    """Finds the candidates of one image, independent of other images.

    It is made with the options of its domain: none of a chest; polarity, smallest and largest of a picture.
    """

    @property
    def name(self) -> str:
        """Its name in `FINDERS` or of its entry point, in study.toml and in the file of a detector."""

    @property
    def version(self) -> str:
        """To be raised whenever the same image may give other candidates: a detector refuses another version."""

    def __call__(self, image: Any, regions: Any, *, limit: int) -> pd.DataFrame:
        """Find at most ``limit`` candidates, as `overread.domains._scale_space.candidate_table` makes them.

        Parameters
        ----------
        image
            As the domain reads it: a `Radiograph` or a `PictureImage`.
        regions
            What the domain found in it: the `Anatomy` of a chest, the mask of a picture. None: the finder looks for
            what it needs itself.
        limit
            Most candidates.
        """


@dataclass(frozen=True)
class FinderEntry:
    """A registered finder.

    Parameters
    ----------
    name : str
        Its name in `find_candidates`, in study.toml and on the command line.
    description : str
        One line for people.
    place : str
        ``"module:class"`` in the folder of its domain, imported when it is used.
    domain : str, default='chest'
        Whose images it searches.
    trained_on : str, default=''
        What its ranking was trained on; empty where nothing was.
    """

    name: str
    description: str
    place: str
    domain: str = "chest"
    trained_on: str = ""


FINDERS: dict[str, FinderEntry] = {
    entry.name: entry
    for entry in (
        FinderEntry(
            "curvature",
            "curved in every direction, ranked by a network on what lies around",
            "_finders:CurvatureFinder",
            trained_on="nodules that Overread's own simulator put into 160 NIH radiographs without finding",
        ),
        FinderEntry("log", "maxima of the Laplacian of Gaussian at five scales", "_finders:LogFinder"),
        FinderEntry("blobs", "curved in every direction, bright or dark", "_finder:BlobFinder", "picture"),
    )
}
"""Every finder of this package by its name."""


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
    radiograph : Radiograph
        The image.
    anatomy : Anatomy, optional
        Its anatomy, if it is known; else the finder looks for what it needs.
    finder : str or CandidateFinder, default=DEFAULT_FINDER
        A name in `FINDERS`, or a finder of your own.
    limit : int, default=DEFAULT_LIMIT
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
    from overread.tables import named, plain

    chosen = load_finder(finder) if isinstance(finder, str) else finder
    found, unit = plain(chosen(radiograph, anatomy, limit=limit), "mm", "candidates")
    return named(found, unit)


def list_finders(domain: str) -> list[str]:
    """Names of the finders of a domain, those of the package first; nothing is imported."""
    own = [entry.name for entry in FINDERS.values() if entry.domain == domain]
    return [*own, *sorted({one.name for one in entry_points(group=f"{ENTRY_POINTS}.{domain}")} - {*own})]


def load_finder(name: str, domain: str = "chest", **options: Any) -> CandidateFinder:
    """Make a finder of a domain by its name, with the options of the domain."""
    entry = FINDERS.get(name)
    if entry is not None and entry.domain == domain:
        module, _, attribute = entry.place.partition(":")
        kind = getattr(import_module(f"overread.domains.{domain}.{module}"), attribute)
    else:
        found = [one for one in entry_points(group=f"{ENTRY_POINTS}.{domain}") if one.name == name]
        if not found:
            raise UsageError(f"no candidate finder {name!r}; there are {', '.join(list_finders(domain))}")
        kind = found[0].load()
    finder: CandidateFinder = kind(**options)
    if finder.name != name:
        raise UsageError(
            f"the entry point {name!r} has a finder named {finder.name!r}; use the same name for both"
        )
    return finder
