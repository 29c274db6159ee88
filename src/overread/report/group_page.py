"""One page of several runs of a study, one for each group of labels: first a verdict of each, then a chapter each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from overread.report.head import RunHead
from overread.report.pictures import Pictures
from overread.report.render import render_page
from overread.report.results import StudyResults

__all__ = ["GroupPart", "render_groups"]


@dataclass(frozen=True, eq=False)
class GroupPart:
    """A group of the page: its name, and what the page of its own run is made of."""

    group: str
    results: StudyResults
    figures: Mapping[str, str]
    pictures: Pictures
    head: RunHead


def render_groups(parts: Sequence[GroupPart], *, run: str) -> str:
    """Write the page.

    Parameters
    ----------
    parts
        Groups, in the order of the settings; at least one.
    run
        Name of the run of all groups.
    """
    head = replace(parts[0].head, run=run)
    return render_page("groups.html.j2", parts=parts, head=head)
