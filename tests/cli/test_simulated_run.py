"""What demo and reproduce share: the user's settings stay, the bar counts images."""

from __future__ import annotations

import pytest

import overread.study
import overread.study.progress
from overread.cli.simulated_run import run_simulated, simulation_progress
from overread.simulate.folder_tables import PLAIN_SETTINGS


@pytest.fixture
def bar(monkeypatch):
    """Put what is told to the progress bar into a list."""
    told = []

    class Bar:
        def begin(self, name, total):
            told.append((name, total))

        def advance(self, steps):
            told.append(steps)

        def end(self):
            told.append("end")

    monkeypatch.setattr(overread.study.progress, "ProgressBar", Bar)
    return told


def test_the_bar_begins_with_the_first_image_and_ends_whatever_happens(bar):
    def work() -> None:
        with simulation_progress() as progress:
            progress(3, 9)  # two were there already
            progress(4, 9)
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert bar == [("simulating images", 9), 3, 1, "end"]


@pytest.mark.parametrize(("before", "after"), [(PLAIN_SETTINGS, "seed = 5\n"), ("seed = 9\n", "seed = 9\n")])
def test_only_settings_of_the_simulation_itself_are_replaced(tmp_path, monkeypatch, bar, before, after):
    ran = []
    monkeypatch.setattr(
        overread.study, "run_study", lambda study, **options: ran.append((study, options)), raising=False
    )

    def make(progress):
        (tmp_path / "study.toml").write_text(before)
        return tmp_path

    run_simulated(make, "seed = 5\n", workers=2, seed=4)
    assert (tmp_path / "study.toml").read_text() == after
    ((study, options),) = ran
    assert study == tmp_path
    assert (options["seed"], options["execution"]) == (4, {"workers": 2})
