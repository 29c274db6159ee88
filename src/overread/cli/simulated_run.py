"""What the commands that simulate share: a bar while images are made, and a study made and run in one go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from overread.simulate.study_folder import Progress
    from overread.study import RunReport

__all__ = ["run_simulated", "simulation_progress"]


def run_simulated(
    make: Callable[[Progress], Path], settings: str, *, workers: int, seed: int | None = None
) -> RunReport:
    """Write the images, put the settings beside them, and run the study; all of it goes on where it stopped."""
    from overread.files.atomic import write_atomically
    from overread.simulate.folder_tables import PLAIN_SETTINGS
    from overread.study import run_study
    from overread.study.progress import ProgressBar

    with simulation_progress() as progress:
        study = make(progress)
    place = study / "study.toml"
    # The user's own changes stay: only what the simulation itself wrote is replaced.
    if place.read_text(encoding="utf-8") == PLAIN_SETTINGS:
        write_atomically(place, settings.encode(), within=study)
    return run_study(study, seed=seed, execution={"workers": workers}, watcher=ProgressBar())


@contextmanager
def simulation_progress() -> Iterator[Progress]:
    """Show how many images are made."""
    from overread.study.progress import ProgressBar

    bar, shown = ProgressBar(), 0

    def advance(done: int, total: int) -> None:
        nonlocal shown
        if shown == 0:
            bar.begin("simulating images", total)
        bar.advance(done - shown)
        shown = done

    try:
        yield advance
    finally:
        bar.end()
