from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from small_scenario import small_design

from overread.apps.scenario._design import Condition
from overread.apps.scenario._points import Found, MeasuredPoint, Measures, Prediction
from overread.apps.scenario._results import (
    MEAN,
    adjust_by_holm,
    compare_overall,
    compare_per_reader,
    estimate_difference,
    estimate_mean,
    group_points,
    measure_doubling,
    stack_conditions,
    sum_up_points,
)
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
    return MeasuredPoint(seed, Condition(images, readings, images_per_reader), model, 1.0, measures, "")


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


def test_a_planted_difference_of_rules_is_told_and_none_is_not():
    rule = {"soft": 0.6, "golden": 0.6, "any": 0.5}
    comparisons = sum_up_points(make_points(lambda model, n, k: rule[model]), DESIGN, None).comparisons
    assert set(comparisons["readings"]) == {2, 4}
    told = comparisons.groupby("rule")["result"].agg(set)
    assert told["any"] == {"soft better"}
    assert told["golden"] == {"not distinguished"}
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


def test_budgets_are_told_only_where_all_their_readings_were_done():
    whole = make_points(lambda *_: 0.5)
    assert len(sum_up_points(whole, DESIGN, None).budgets)
    part = [
        replace(one, measures=replace(one.measures, n_readings=one.condition.budget - 1)) for one in whole
    ]
    results = sum_up_points(part, DESIGN, None)
    assert results.budgets.empty
    assert results.doubling.empty
    assert len(results.comparisons)


def test_limits_of_a_sensitivity_are_shares():
    table = sum_up_points(
        [make_point("soft", 100, 2, seed, 0.1 * seed, noise=0.3) for seed in range(2)], DESIGN, None
    )
    assert table.sensitivity["lower"].min() >= 0
    assert table.sensitivity["upper"].max() <= 1


def test_a_scenario_without_any_fit_says_why():
    empty = MeasuredPoint(0, Condition(10, 1), "soft", 0.0, None, "no reader marked anything")
    with pytest.raises(InvalidInputError, match="no reader marked anything"):
        sum_up_points([empty], DESIGN, None)


def test_only_seeds_that_all_have_are_compared():
    first = [make_point("soft", 10, 2, seed, 0.6, noise=0) for seed in (0, 1, 2)]
    second = [make_point("any", 10, 2, seed, 0.5, noise=0) for seed in (1, 2, 3)]
    estimate = estimate_difference([first], [second], "known")
    assert (estimate.value, estimate.n_seeds) == (pytest.approx(0.1), 2)
    assert stack_conditions([first, second], "known")[0].shape == (2, 2)


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


PER_READER_DESIGN = small_design(
    source={"cohort": 280},
    readers={"images_per_reader": [0, 20, 10]},
    grid={"images": [100, 200], "readings": [2]},
)
CONDITIONS = PER_READER_DESIGN.conditions


def make_reader_points(rule, missing=()):
    """Points of a planted law: rule(model, images of a reader) is the sensitivity."""
    return [
        make_point(
            model,
            at.images,
            2,
            seed,
            rule(model, at.images_per_reader),
            images_per_reader=at.images_per_reader,
        )
        for seed in range(4)
        for model in ("soft", "golden", "dawid_skene")
        for at in CONDITIONS
        if (model, at) not in missing
    ]


def fall(model, own):
    """Dawid and Skene's model loses where readers read 10 images, and nowhere else."""
    return 0.4 if (model, own) == ("dawid_skene", 10) else 0.5


def test_a_planted_loss_of_few_images_is_found_where_it_is():
    table = compare_per_reader(group_points(make_reader_points(fall)), "known", CONDITIONS)
    own = table[table["model"] == "dawid_skene"].set_index("images_per_reader")
    assert own.index.tolist() == [0, 20, 10]
    assert own["estimate"].to_numpy() == pytest.approx([0, 0, -0.1], abs=0.02)
    assert own["change"].to_numpy()[1:] == pytest.approx([0, -0.1], abs=0.02)
    assert (own["p_holm"] < 0.05).tolist() == [False, False, True]
    assert (own["change_holm"] < 0.05).tolist() == [False, False, True]
    assert np.isnan(own.loc[0, "change"])
    # A rule that does not ask who marked has one row; soft is what the others are compared with.
    assert table.loc[table["model"] == "golden", "images_per_reader"].tolist() == [0]
    assert "soft" not in set(table["model"])
    # 100 and 200 images read twice by the 4 readers of the stand-in.
    assert table["images_of_a_reader"].to_numpy() == pytest.approx((50 + 100) / 2)


def test_training_sets_that_a_model_cannot_be_fitted_to_are_counted():
    points = make_reader_points(fall, missing={("dawid_skene", Condition(100, 2, 10))})
    table = compare_per_reader(group_points(points), "known", CONDITIONS)
    row = table[(table["model"] == "dawid_skene") & (table["images_per_reader"] == 10)].iloc[0]
    assert (row["n_sets"], row["n_wanted"]) == (1, 2)
    none = make_reader_points(
        fall, missing={("dawid_skene", at) for at in CONDITIONS if at.images_per_reader == 10}
    )
    table = compare_per_reader(group_points(none), "known", CONDITIONS)
    row = table[(table["model"] == "dawid_skene") & (table["images_per_reader"] == 10)].iloc[0]
    assert row["n_sets"] == 0
    assert np.isnan(row["estimate"])
    gone = make_reader_points(fall, missing={("dawid_skene", at) for at in CONDITIONS})
    assert set(compare_per_reader(group_points(gone), "known", CONDITIONS)["model"]) == {"golden"}


def test_without_draws_of_patients_it_is_student_s_interval():
    values = [0.1, 0.4, 0.2, 0.35, 0.15]
    estimate = estimate_mean(values, None, 0)
    peer = ttest_1samp(values, 0)
    low, high = peer.confidence_interval(0.95)
    assert estimate.value == pytest.approx(np.mean(values))
    assert (estimate.lower, estimate.upper) == pytest.approx((low, high))
    assert estimate.p_value == pytest.approx(peer.pvalue)


def test_one_seed_has_the_interval_of_the_patients():
    draws = np.random.default_rng(0).normal(0.5, 0.1, (1, 4000))
    estimate = estimate_mean([0.5], draws, 100)
    assert estimate.upper - estimate.lower == pytest.approx(2 * 1.984 * 0.1, rel=0.05)
    assert np.isnan(estimate.p_value)


def test_intervals_cover_the_mean_when_seeds_and_patients_vary():
    random = np.random.default_rng(2)
    n_studies, covered = 600, 0
    for _ in range(n_studies):
        patients = random.normal(0, 1, 50)
        seeds = random.normal(0, 0.1, 5)
        rows = random.integers(50, size=(150, 50))
        values = seeds + patients.mean()
        estimate = estimate_mean(values, seeds[:, None] + patients[rows].mean(axis=1), 50)
        covered += estimate.lower <= 0 <= estimate.upper
    # Nominal 95 %, give or take four standard errors of 600 studies.
    assert abs(covered / n_studies - 0.95) < 4 * np.sqrt(0.95 * 0.05 / n_studies)


def simulate_study(random, *, of_patients, of_both, n_patients=40, n_seeds=4, n_draws=100):
    """Values and draws of mu + a_s + b_p + c_sp with mu = 0."""
    table = (
        random.normal(0, 0.05, (n_seeds, 1))
        + random.normal(0, of_patients, n_patients)
        + random.normal(0, of_both, (n_seeds, n_patients))
    )
    rows = random.integers(n_patients, size=(n_draws, n_patients))
    return table.mean(axis=1), table[:, rows].mean(axis=2)


@pytest.mark.parametrize(("of_patients", "of_both"), [(1.0, 0.2), (0.0, 1.0), (0.5, 1.0)])
def test_the_level_is_kept_whatever_training_sets_and_patients_share(of_patients, of_both):
    random = np.random.default_rng(3)
    found = [
        estimate_mean(*simulate_study(random, of_patients=of_patients, of_both=of_both), 40).p_value < 0.05
        for _ in range(1000)
    ]
    # Nominal 5 %, give or take four standard errors of 1,000 studies. With c_sp counted twice it is 1 to 2 % where
    # that is large.
    assert abs(np.mean(found) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 1000)


def test_draws_with_nothing_to_find_are_left_out():
    draws = np.random.default_rng(4).normal(0.5, 0.1, (2, 400))
    emptied = np.where(np.arange(500) < 400, np.pad(draws, ((0, 0), (0, 100))), np.nan)
    assert estimate_mean([0.4, 0.6], emptied, 30) == estimate_mean([0.4, 0.6], draws, 30)
    assert estimate_mean([0.4, 0.6], np.full((2, 5), np.nan), 30) == estimate_mean([0.4, 0.6], None, 30)


def test_models_that_are_the_same_differ_by_nothing():
    same = estimate_mean([0.0, 0.0], np.zeros((2, 10)), 30)
    assert (same.value, same.lower, same.upper, same.p_value) == (0, 0, 0, 1)


def test_a_single_figure_without_draws_has_no_interval():
    estimate = estimate_mean([0.4], None, 0)
    assert np.isnan([estimate.lower, estimate.upper, estimate.p_value]).all()


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.04: times 3, 2 and 1, never falling.
    assert adjust_by_holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert adjust_by_holm([0.9, 0.8]) == [1.0, 1.0]


def test_what_was_not_tested_is_no_test():
    adjusted = adjust_by_holm([0.02, float("nan"), 0.03])
    assert adjusted[0] == pytest.approx(0.04)
    assert np.isnan(adjusted[1])
    assert adjust_by_holm([]) == []
