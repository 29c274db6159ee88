"""What the commands that simulate share: a study made and run in one go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overread.study import RunReport

__all__ = ["run_simulated"]


def run_simulated(
    make: Callable[[], Path],
    settings: str,
    *,
    workers: int,
    seed: int | None = None,
    replaced: str | None = None,
) -> RunReport:
    """Write the images, put the settings beside them, and run the study; all of it goes on where it stopped.

    `replaced` is what the simulation itself writes into study.toml; if not given, what it writes for chests.
    """
    from overread.files.atomic import write_atomically
    from overread.progress import ProgressBar
    from overread.simulate.folder_tables import CHEST_LAYOUT
    from overread.study import run_study

    with ProgressBar():
        study = make()
        place = study / "study.toml"
        # The user's own changes stay: only what the simulation itself wrote is replaced.
        if place.read_text(encoding="utf-8") == (replaced or CHEST_LAYOUT.settings):
            write_atomically(place, settings.encode(), within=study)
        return run_study(study, seed=seed, execution={"workers": workers})
