import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm
from scipy.stats import t as student_t

from overread.errors import InvalidInputError
from overread.froc import check_draws, percentile_interval, proportion_interval, rate_interval, score_interval
from overread.froc._bootstrap import standard_interval


@pytest.mark.parametrize(("found", "total"), [(46, 104), (0, 10), (10, 10), (1, 3), (500, 501)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_scipys(found, total, level):
    expected = binomtest(found, total).proportion_ci(level, method="wilson")
    np.testing.assert_allclose(proportion_interval(found, total, level), expected, atol=1e-15)


def test_score_interval_of_independent_lesions_is_wilsons():
    rng = np.random.default_rng(0)
    replicates = rng.binomial(200, 0.7, (200_000, 1)) / 200
    lower, upper = score_interval(np.array([0.7]), replicates, 200, 0.95)
    np.testing.assert_allclose([lower[0], upper[0]], proportion_interval(140, 200), atol=5e-4)


def test_score_interval_without_variance_counts_patients():
    for p in (0.0, 1.0):
        ends = score_interval(np.array([p]), np.full((10, 1), p), 7, 0.95)
        np.testing.assert_allclose(np.ravel(ends), proportion_interval(7 * p, 7))


def test_undefined_replicates_are_left_out():
    replicates = np.array([[0.1], [np.nan], [0.3], [0.2]])
    assert percentile_interval(replicates, 0.5)[0] == pytest.approx(0.15)
    assert np.isnan(percentile_interval(replicates[1:2], 0.5)[0]).all()
    assert np.isnan(score_interval(np.array([np.nan]), replicates[1:2], 0, 0.5)).all()
    np.testing.assert_allclose(
        score_interval(np.array([0.2]), replicates, 9, 0.9),
        score_interval(np.array([0.2]), replicates[[0, 2, 3]], 9, 0.9),
    )


def test_rate_interval():
    rng = np.random.default_rng(2)
    replicates = rng.normal(2.0, 0.1, (500, 1))
    lower, upper = rate_interval(np.array([2.0]), replicates, 51, 0.95)
    expected = student_t.ppf(0.975, 50) * replicates.std() / 2
    np.testing.assert_allclose(np.log([lower[0] / 2, upper[0] / 2]), [-expected, expected])
    # None seen: the exact Poisson limit, as the chi-square quantile gives it.
    lower, upper = rate_interval(np.zeros(1), np.zeros((5, 1)), 30, 0.95)
    np.testing.assert_allclose([lower[0], upper[0]], [0, chi2.ppf(0.975, 2) / 2 / 30])


def test_standard_interval_and_its_p_value_agree():
    rng = np.random.default_rng(1)
    replicates = rng.normal(0.1, 0.05, (1000, 1))
    error = replicates.std(ddof=1)
    result = standard_interval(np.array([0.1]), replicates, 9, 0.95)
    np.testing.assert_allclose([result.lower[0], result.upper[0]], norm.interval(0.95, 0.1, error))
    np.testing.assert_allclose(result.p_value, 2 * norm.sf(0.1 / error))
    touching = standard_interval(np.array([0.1]), replicates, 9, 1 - float(result.p_value[0]))
    assert touching.lower[0] == pytest.approx(0, abs=1e-12)
    assert standard_interval(np.zeros(1), np.zeros((5, 1)), 9, 0.95).p_value[0] == 1
    assert np.isnan(standard_interval(np.zeros(1), np.full((5, 1), np.nan), 9, 0.95).p_value[0])


@pytest.mark.parametrize("difference", [-1.0, 0.1, 1 / 3])
def test_a_difference_that_never_varies_has_no_interval(difference):
    result = standard_interval(np.array([difference]), np.full((1000, 1), difference), 9, 0.95)
    assert np.isnan([result.lower, result.upper, result.p_value]).all()


def test_one_patient_has_no_interval_of_a_difference():
    replicates = np.array([[-1.0], [0.0], [-1.0], [0.0]])
    result = standard_interval(np.array([-1.0]), replicates, 1, 0.95)
    assert np.isnan([result.lower, result.upper, result.p_value]).all()
    same = standard_interval(np.zeros(1), np.zeros((4, 1)), 1, 0.95)
    assert np.isnan([same.lower, same.upper, same.p_value]).all()
    same = standard_interval(np.zeros(1), np.zeros((4, 1)), 2, 0.95)
    assert (same.lower[0], same.upper[0], same.p_value[0]) == (0, 0, 1)


def test_intervals_of_differences_end_at_one():
    result = standard_interval(np.array([0.9, -0.9]), np.array([[0.7, -0.7], [1.0, -1.0]] * 5), 5, 0.95)
    assert (result.upper[0], result.lower[1]) == (1, -1)


def test_shares_that_cannot_be_are_refused():
    for found, total in ((5, 3), (-1, 3), (0, -1), ([1, 4], [3, 3])):
        with pytest.raises(InvalidInputError, match="0 <= found <= total"):
            proportion_interval(found, total)
    assert np.isnan(proportion_interval(0, 0)).all()


def test_a_share_that_rounding_puts_above_one_is_one():
    above = np.array([1 + 1e-15])
    ends = score_interval(above, np.full((10, 1), above), 7, 0.95)
    np.testing.assert_allclose(np.ravel(ends), proportion_interval(7, 7))


def test_a_rate_of_one_patient_has_no_interval():
    lower, upper = rate_interval(np.array([0.75]), np.full((200, 1), 0.75), 1, 0.95)
    assert np.isnan([lower, upper]).all()
    # Nothing found in one patient: the exact end of a Poisson number stays.
    lower, upper = rate_interval(np.array([0.0]), np.zeros((200, 1)), 1, 0.95)
    assert (lower[0], upper[0]) == (0.0, pytest.approx(-np.log(0.025)))


def test_a_rate_that_all_replicates_share_has_no_interval():
    estimate = np.array([1.4, 0.5])
    replicates = np.column_stack([np.full(200, 1.4), np.linspace(0.3, 0.7, 200)])
    lower, upper = rate_interval(estimate, replicates, 30, 0.95)
    assert np.isnan([lower[0], upper[0]]).all()
    assert lower[1] < 0.5 < upper[1]


@pytest.mark.parametrize(
    ("draws", "level", "enough"),
    [(100, 0.95, True), (99, 0.95, False), (2000, 0.999, True), (1999, 0.999, False)],
)
def test_the_ends_of_an_interval_rest_on_a_draw_at_least(draws, level, enough):
    if enough:
        check_draws(draws, level)
    else:
        with pytest.raises(InvalidInputError, match="need at least"):
            check_draws(draws, level)
