from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_scenario import small_design

from overread.apps.scenario._design import Condition
from overread.apps.scenario._points import Found, Measures, Point, Prediction, list_points
from overread.apps.scenario._results import MEAN, sum_up_points
from overread.errors import InvalidInputError

PREDICTION = Prediction(deviance=0.5, deviance_of_mean=1.0, spearman=0.7, slope=0.9)


def make_point(model, images, readings, seed, sensitivity, *, noise=0.02, skills=(), images_per_reader=0):
    random = np.random.default_rng([seed, images, readings])
    values = np.clip(
        np.array([sensitivity - 0.1, sensitivity, sensitivity + 0.1]) + random.normal(0, noise, 3), 0, 1
    )
    patients = np.random.default_rng(7).normal(0, noise, (50, 1))
    found = Found(values.tolist(), (values + patients).tolist(), 100, 80)
    measures = Measures(10, found, found, PREDICTION, images, images * readings, 4, 30, 20, list(skills))
    return Point(seed, Condition(images, readings, images_per_reader), model, 1.0, measures, "")


def make_points(rule):
    """Points of a planted law: rule(model, images, readings) is the sensitivity."""
    return [
        make_point(model, images, readings, seed, rule(model, images, readings))
        for seed in range(4)
        for model in ("soft", "golden", "any")
        for images in (100, 200, 400)
        for readings in (1, 2, 4)
    ]


DESIGN = small_design(seeds=4)


def test_a_planted_law_of_budgets_is_found():
    # Images count for more than readings: the best way to spend 400 readings is 400 images read once.
    results = sum_up_points(
        make_points(lambda _, n, k: 0.2 + 0.1 * np.log2(n / 100) + 0.03 * np.log2(k)), DESIGN, None
    )
    budgets = results.budgets
    assert sorted(set(budgets["budget"])) == [200, 400, 800]
    best = budgets[budgets["is_best"]].set_index("budget")
    assert best.loc[400, ["images", "readings"]].tolist() == [400, 1]
    assert best.loc[800, ["images", "readings"]].tolist() == [400, 2]
    worst = budgets[(budgets["budget"] == 400) & (budgets["readings"] == 4)].iloc[0]
    assert worst["below_best"] == pytest.approx(0.14, abs=0.03)
    assert worst["p_holm"] < 0.05


def test_images_that_a_sensitivity_takes_lie_on_the_line():
    points = [
        make_point("soft", n, k, 0, 0.2 + 0.1 * np.log2(n / 100) + 0.03 * np.log2(k), noise=0)
        for n in (100, 200, 400)
        for k in (1, 2, 4)
    ]
    results = sum_up_points(points, DESIGN, None)
    for row in results.needed.dropna().itertuples():
        expected = 100 * 2 ** ((row.sensitivity - 0.2 - 0.03 * np.log2(row.readings)) / 0.1)
        assert row.images == pytest.approx(expected, rel=1e-6)
        assert row.budget == pytest.approx(expected * row.readings, rel=1e-6)
    assert len(results.needed.dropna()) >= 5


def test_a_planted_difference_of_rules_is_told_and_none_is_not():
    rule = {"soft": 0.6, "golden": 0.6, "any": 0.5}
    comparisons = sum_up_points(make_points(lambda model, n, k: rule[model]), DESIGN, None).comparisons
    assert set(comparisons["readings"]) == {2, 4}
    told = comparisons.groupby("rule")["result"].agg(set)
    assert told["any"] == {"soft better"}
    assert told["golden"] == {"not told apart"}
    assert (comparisons["p_holm"] >= comparisons["p_value"]).all()


def test_sensitivity_has_every_target_and_their_mean():
    results = sum_up_points(make_points(lambda *_: 0.5), DESIGN, None)
    table = results.sensitivity
    assert set(table["fp_per_image"]) == {"0.5", "1", "2", MEAN}
    assert set(table["judge"]) == {"known", "golden"}
    assert (table["lower"] < table["estimate"]).all()
    one = table[(table["model"] == "soft") & (table["images"] == 100) & (table["readings"] == 2)]
    means = one[one["judge"] == "known"].set_index("fp_per_image")["estimate"]
    assert means[MEAN] == pytest.approx(means.drop(MEAN).mean())


def test_skills_are_compared_with_the_simulated_ones_also_of_later_pools():
    true = pd.DataFrame({"reader_id": ["R1", "R2", "R3"], "true_sensitivity": [0.4, 0.5, 0.6]})
    names, values = ["R1.1", "R3.1", "R2.2"], [0.5, 0.7, 0.6]
    skills = [
        {"reader_id": n, "sensitivity": v, "specificity": 1.0} for n, v in zip(names, values, strict=True)
    ]
    row = sum_up_points([make_point("soft", 100, 2, 0, 0.5, skills=skills)], DESIGN, true).skills.iloc[0]
    assert (row["readers"], row["spearman"], row["bias"]) == pytest.approx((3, 1.0, 0.1))


def test_what_was_measured_is_in_the_tables(design, folder, done):
    results = done.results
    assert results.judge == "known"
    points = list_points(design, folder)
    assert len(results.features) == len(points) / design.seeds
    mean = np.mean(
        [p.measures.n_features for p in points if (p.model, p.condition) == ("any", Condition(80, 4))]
    )
    kept = results.features.query("model == 'any' and images == 80 and readings == 4")
    assert kept["features"].item() == mean
    assert set(results.tables()) >= {
        "sensitivity",
        "comparisons",
        "budgets",
        "prediction",
        "skills",
        "missing",
    }


def test_a_design_without_a_pool_that_reads_all_is_told_of_the_pool_that_reads_most():
    points = [
        make_point(
            "soft", n, k, seed, 0.3 + 0.05 * np.log2(n / 100) + 0.1 * (own == 50), images_per_reader=own
        )
        for seed in range(3)
        for n in (100, 200)
        for k in (2, 4)
        for own in (50, 10)
    ]
    results = sum_up_points(points, DESIGN, None)
    assert results.budgets["estimate"].tolist() == pytest.approx([0.45, 0.4], abs=0.03)
    assert len(results.doubling) == 3
    assert len(results.needed)


def test_budgets_are_told_only_where_all_their_readings_were_done():
    whole = make_points(lambda *_: 0.5)
    assert len(sum_up_points(whole, DESIGN, None).budgets)
    part = [
        replace(one, measures=replace(one.measures, n_readings=one.condition.budget - 1)) for one in whole
    ]
    results = sum_up_points(part, DESIGN, None)
    assert results.budgets.empty
    assert results.needed.empty
    assert results.doubling.empty
    assert len(results.comparisons)


def test_limits_of_a_sensitivity_are_shares():
    table = sum_up_points(
        [make_point("soft", 100, 2, seed, 0.1 * seed, noise=0.3) for seed in range(2)], DESIGN, None
    )
    assert table.sensitivity["lower"].min() >= 0
    assert table.sensitivity["upper"].max() <= 1


def test_a_scenario_without_any_fit_says_why():
    empty = Point(0, Condition(10, 1), "soft", 0.0, None, "no reader marked anything")
    with pytest.raises(InvalidInputError, match="no reader marked anything"):
        sum_up_points([empty], DESIGN, None)
