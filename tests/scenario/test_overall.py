from __future__ import annotations

import numpy as np
import pytest
from test_results import make_point, make_points

from overread.apps.scenario._results import compare_overall, group_points, measure_doubling


def test_a_planted_plane_is_found():
    points = make_points(lambda _, n, k: 0.2 + 0.08 * np.log2(n / 100) + 0.02 * np.log2(k))
    table = measure_doubling(group_points(points), "known").set_index(["model", "step"])
    for step, wanted in (
        ("images doubled", 0.08),
        ("readings doubled", 0.02),
        ("images rather than readings", 0.06),
    ):
        row = table.loc[("soft", step)]
        assert row["estimate"] == pytest.approx(wanted, abs=0.015)
        assert row["lower"] < wanted < row["upper"]
    assert table.loc[("soft", "images rather than readings"), "p_value"] < 0.05


def test_one_number_of_readings_tells_nothing_of_more():
    points = [make_point("soft", n, 2, seed, 0.5) for n in (100, 200) for seed in range(2)]
    assert measure_doubling(group_points(points), "known").empty


def test_soft_against_hard_in_the_mean_of_all_sets():
    rule = {"soft": 0.6, "golden": 0.6, "any": 0.57}
    table = compare_overall(group_points(make_points(lambda model, *_: rule[model])), "known").set_index(
        "rule"
    )
    assert table.loc["any", "estimate"] == pytest.approx(0.03, abs=0.01)
    assert table.loc["any", "p_holm"] < 0.05 < table.loc["golden", "p_holm"]
    # One reading of an image has no hard labels of its own.
    assert (table["n_sets"] == 6).all()


def test_without_soft_labels_nothing_is_compared():
    assert compare_overall(group_points([make_point("any", 100, 2, 0, 0.5)]), "known").empty
