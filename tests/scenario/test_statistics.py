from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from overread.apps.scenario._results import adjust_by_holm, estimate_mean


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


def test_both_kinds_of_variance_are_in_the_interval():
    random = np.random.default_rng(1)
    values = random.normal(0.5, 0.1, 6)
    shared = random.normal(0, 0.1, 2000)
    seeds_alone = estimate_mean(values, None, 200)
    both = estimate_mean(values, values[:, None] + shared, 200)
    assert both.upper - both.lower > seeds_alone.upper - seeds_alone.lower


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
