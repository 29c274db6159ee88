"""Groups of labels: one run for each, and one page for all.

A run ``main`` of the groups ``exudates`` and ``red`` joins the runs ``main-exudates`` and ``main-red``, each with
truth, candidates, models, detector and page. The folder ``main`` holds the page of all and ``groups.json``, which names
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from overread.errors import FormatError
from overread.files import read_json, write_atomically
from overread.report import GroupPart, render_groups
from overread.study._run_reader import open_run
from overread.study._settings import Settings
from overread.study._store import GROUPS_FILE, json_bytes


def split_groups(settings: Settings) -> dict[str, Settings]:
    """Return the settings of each group's run: its labels, and its polarity where that is given by group."""
    made = {}
    for group, labels in settings.labels.groups.items():
        polarity = settings.candidates.polarity
        # Copies keep which keys were set, which defaults by region and unit depend on.
        update = {"groups": {group: labels}}
        parts: dict[str, object] = {"labels": settings.labels.model_copy(update=update)}
        if isinstance(polarity, Mapping):
            parts["candidates"] = settings.candidates.model_copy(update={"polarity": polarity[group]})
        made[group] = settings.model_copy(update=parts)
    return made


def read_groups(root: Path) -> dict[str, Path]:
    """Return the folder of each group's run; none where a run has no groups."""
    path = root / GROUPS_FILE
    if not path.is_file():
        return {}
    named = read_json(path)
    if not isinstance(named, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in named.values()
    ):
        raise FormatError(f"{path}: is not the list of groups that a run writes (run the study again)")
    return {str(group): root.parent / name for group, name in named.items()}


def write_group_page(root: Path, runs: Mapping[str, Path], *, output: Path | None = None) -> Path:
    """Write the page that joins the runs of groups."""
    parts = []
    for group, folder in runs.items():
        run = open_run(folder)
        parts.append(GroupPart(group, run.results, run.figures, run.pictures, run.head))
    page = render_groups(parts, run=root.name).encode()
    if output is not None:
        return write_atomically(output, page)
    root.mkdir(parents=True, exist_ok=True)
    write_atomically(
        root / GROUPS_FILE, json_bytes({group: folder.name for group, folder in runs.items()}), within=root
    )
    return write_atomically(root / "report.html", page, within=root)
