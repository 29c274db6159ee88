"""What demo and reproduce share: the user's settings stay."""

from __future__ import annotations

import pytest

import overread.study
from overread._commands import run_simulated
from overread.simulate import CHEST_LAYOUT, FIELD_LAYOUT


@pytest.mark.parametrize(
    ("before", "after"), [(CHEST_LAYOUT.settings, "seed = 5\n"), ("seed = 9\n", "seed = 9\n")]
)
def test_only_settings_of_the_simulation_itself_are_replaced(tmp_path, monkeypatch, before, after):
    ran = []
    monkeypatch.setattr(
        overread.study, "run_study", lambda study, **options: ran.append((study, options)), raising=False
    )

    def make():
        (tmp_path / "study.toml").write_text(before)
        return tmp_path

    run_simulated(make, "seed = 5\n", workers=2, seed=4)
    assert (tmp_path / "study.toml").read_text() == after
    ((study, options),) = ran
    assert study == tmp_path
    assert (options["seed"], options["execution"]) == (4, {"workers": 2})


def test_the_settings_of_another_kind_are_replaced_too(tmp_path, monkeypatch):
    monkeypatch.setattr(overread.study, "run_study", lambda study, **options: None, raising=False)
    (tmp_path / "study.toml").write_text(FIELD_LAYOUT.settings)
    run_simulated(lambda: tmp_path, "seed = 5\n", workers=1)
    assert (tmp_path / "study.toml").read_text() == FIELD_LAYOUT.settings
    run_simulated(lambda: tmp_path, "seed = 5\n", workers=1, replaced=FIELD_LAYOUT.settings)
    assert (tmp_path / "study.toml").read_text() == "seed = 5\n"
