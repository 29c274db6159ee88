from shutil import copytree

import numpy as np
import pytest
from scipy.stats import binom
from small_scenario import small_design

from overread.apps.scenario import _contenders as contenders
from overread.apps.scenario._material import prepare_material
from overread.apps.scenario._page import give_answers
from overread.apps.scenario._points import claim_folder, run_points
from overread.apps.scenario._results import sum_up_points
from overread.apps.scenario.command import run_scenario
from overread.errors import InvalidInputError
from overread.study import Split


def test_the_page_can_be_written_again_without_fitting(done, design, folder, tmp_path, monkeypatch):
    copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "scenario.html").unlink()
    monkeypatch.setattr("overread.apps.scenario.command.run_points", lambda *_: pytest.fail("fitted"))
    monkeypatch.setattr("overread.apps.scenario._page.draw_scenario", lambda *_: {})
    again = run_scenario(design, tmp_path / "copy", fit=False)
    assert give_answers(again) == give_answers(done)
    assert done.missing.empty
    assert (tmp_path / "copy" / "scenario.html").is_file()


def test_a_page_of_nothing_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no point is finished"):
        run_scenario(small_design(), tmp_path, fit=False)


def label_last_reader(split):
    """Learn from the last reading of each image: the same law as from the first, other marks."""
    fields = {name: getattr(split, name) for name in Split.__dataclass_fields__}
    reversed_ = Split(**{**fields, "readings": split.readings.iloc[::-1]})
    return contenders.CONTENDERS["one_reader"].label(reversed_)


class Blurred(contenders.Rule):
    """Its scores are blurred by noise that is the same whatever it was fitted to."""

    def score(self, model, features):
        scores = super().score(model, features)
        return scores + scores.std() * np.random.default_rng(0).normal(size=len(scores))


def compare_soft_with_any(seed, folder):
    """Do a study of its own cohort; return the test of soft against `any`."""
    design = small_design(
        seed=seed,
        seeds=3,
        source={"cohort": 240, "test": 120},
        readers={"pool": 3, "false_marks": 0.8, "lookalikes": 0.0, "test_readings": 2},
        grid={"images": [80], "readings": [3]},
        fit={"models": ["soft", "any"], "folds": 2, "n_lambdas": 3, "standard_errors": 0.0},
    )
    claim_folder(folder, design)
    points = run_points(design, prepare_material(design, folder), folder)
    return sum_up_points(points, design, None).comparisons.iloc[0]


def plant(monkeypatch):
    monkeypatch.setitem(
        contenders.CONTENDERS, "any", Blurred("any", "Any", "", contenders.CONTENDERS["share"].label)
    )


def plant_nothing(monkeypatch):
    """Put one reader of each image in the place of soft, and another one in that of `any`: nothing differs but luck."""
    monkeypatch.setitem(contenders.CONTENDERS, "soft", contenders.CONTENDERS["one_reader"])
    monkeypatch.setitem(contenders.CONTENDERS, "any", contenders.Rule("any", "Any", "", label_last_reader))


def test_a_planted_effect_is_found(tmp_path, monkeypatch):
    plant(monkeypatch)
    row = compare_soft_with_any(0, tmp_path)
    assert row["p_value"] < 0.05
    assert row["difference"] > 0


def test_a_null_effect_is_not_found(tmp_path, monkeypatch):
    plant_nothing(monkeypatch)
    row = compare_soft_with_any(0, tmp_path)
    assert row["p_value"] > 0.05
    assert row["difference"] != 0


@pytest.mark.slow
def test_a_planted_effect_is_found_in_a_hundred_studies(tmp_path, monkeypatch):
    plant(monkeypatch)
    found = [compare_soft_with_any(seed, tmp_path / f"{seed}") for seed in range(100)]
    assert np.mean([row["p_value"] < 0.05 and row["difference"] > 0 for row in found]) > 0.9


@pytest.mark.slow
def test_a_null_effect_is_found_as_often_as_the_level_says(tmp_path, monkeypatch):
    plant_nothing(monkeypatch)
    found = [compare_soft_with_any(seed, tmp_path / f"{seed}") for seed in range(100)]
    n_told = sum(row["p_value"] < 0.05 for row in found)
    low, high = binom.interval(0.95, 100, 0.05)
    assert low <= n_told <= high
