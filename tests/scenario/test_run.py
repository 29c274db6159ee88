from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from small_scenario import small_design

from overread.errors import InvalidInputError
from overread.scenario import contenders
from overread.scenario.run import run_scenario


def test_a_scenario_ends_with_a_page_and_sentences(done, folder):
    assert done.page == folder / "scenario.html"
    assert done.answers
    assert done.n_missing == 0


def test_the_page_can_be_written_again_without_fitting(done, design, folder, monkeypatch):
    monkeypatch.setattr("overread.scenario.run.run_points", lambda *_: pytest.fail("fitted"))
    again = run_scenario(design, folder, fit=False)
    assert again.page.read_bytes() == done.page.read_bytes()


def test_a_page_of_nothing_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="no point is there"):
        run_scenario(small_design(), tmp_path, fit=False)


class OtherReader(contenders.OneReader):
    """Learns from the last reading of each image: the same law as from the first, other marks."""

    name = "any"

    def label(self, split):
        return super().label(type(split)(**{**vars_of(split), "readings": split.readings.iloc[::-1]}))


def vars_of(split):
    return {name: getattr(split, name) for name in type(split).__dataclass_fields__}


def planted(seed, folder, *, any_is_bad):
    """Test soft against `any` in a study of its own cohort; return the p-value and the difference."""
    design = small_design(
        seed=seed,
        seeds=3,
        source={"cohort": 240, "test": 120},
        readers={"pool": 6, "false_marks": 2.5, "lookalikes": 0.0},
        grid={"images": [60], "readings": [6]},
        fit={"models": ["soft", "any"], "folds": 3, "n_lambdas": 4, "standard_errors": 0.0},
    )
    row = run_scenario(design, folder).results.comparisons.iloc[0]
    assert any_is_bad in (True, False)
    return row["p_value"], row["difference"]


def compare_with_null(n_studies, tmp_path, monkeypatch):
    """Soft replaced by one reader of each image, `any` by another one of it: nothing differs but luck."""
    first = contenders.OneReader()
    first.name = "soft"  # type: ignore[misc]
    monkeypatch.setitem(contenders.CONTENDERS, "soft", first)
    monkeypatch.setitem(contenders.CONTENDERS, "any", OtherReader())
    return [planted(seed, tmp_path / f"n{seed}", any_is_bad=False) for seed in range(n_studies)]


def test_a_planted_effect_is_found(tmp_path):
    # Every reader makes two or three false marks: taken for lesions, they mislead; the share of readers does not.
    found = [planted(seed, tmp_path / f"p{seed}", any_is_bad=True) for seed in range(3)]
    assert all(difference > 0 for _, difference in found)
    assert sum(p < 0.05 for p, _ in found) >= 2


def test_a_null_effect_is_not_found(tmp_path, monkeypatch):
    found = compare_with_null(3, tmp_path, monkeypatch)
    assert sum(p < 0.05 for p, _ in found) <= 1


@pytest.mark.slow
def test_a_planted_effect_is_found_in_a_hundred_studies(tmp_path):
    found = [planted(seed, tmp_path / f"p{seed}", any_is_bad=True) for seed in range(100)]
    assert np.mean([p < 0.05 and difference > 0 for p, difference in found]) > 0.9


@pytest.mark.slow
def test_a_null_effect_is_found_no_more_often_than_the_level_says(tmp_path, monkeypatch):
    found = compare_with_null(100, tmp_path, monkeypatch)
    n_told = sum(p < 0.05 for p, _ in found)
    # The two kinds of variance share a part that is counted twice: the test may stay below its level, never above it.
    assert binomtest(n_told, 100, 0.05, alternative="greater").pvalue > 0.025


def test_with_many_readings_soft_and_golden_labels_meet_where_readers_agree(tmp_path):
    # Lesions that all see, and hardly a false mark: shares are near 0 or 1.
    design = small_design(
        seeds=1,
        readers={"pool": 12, "false_marks": 0.01, "lookalikes": 0.0, "skill_spread": 0.0, "threshold_spread": 0.0},
        grid={"images": [80], "readings": [2, 12]},
        fit={"models": ["soft", "majority"]},
    )
    table = run_scenario(design, tmp_path).results.comparisons.set_index("readings")
    assert abs(table.loc[12, "difference"]) < 0.03
