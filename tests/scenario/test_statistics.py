from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from overread.scenario.statistics import adjust_by_holm, estimate_mean


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
