import numpy as np
import pytest
from scipy.stats import binomtest, chi2, kurtosis, norm
from scipy.stats import t as student_t

from overread.errors import InvalidInputError
from overread.froc import (
    Matching,
    SortedEvents,
    bootstrap,
    check_draws,
    froc_curve,
    patient_counts,
    percentile_interval,
    proportion_interval,
    rate_interval,
    replicate_sensitivities,
    score_interval,
    sensitivity_at,
)
from overread.froc._bootstrap import standard_interval

TARGETS = np.array([0.5, 3.0, 1.0])


def test_freedom_of_the_variance():
    """Alike patients are worth their number; one with all the false positives is worth hardly any."""
    none = {"gt_scores": [], "gt_images": []}
    even = Matching.from_events(n_images=40, fp_scores=np.ones(20), fp_images=np.arange(20), **none)
    one = Matching.from_events(n_images=40, fp_scores=np.ones(20), fp_images=np.zeros(20, int), **none)
    nothing = Matching.from_events(n_images=40, fp_scores=[], fp_images=[], **none)
    freedoms = [bootstrap(m, thresholds=[0.0], n_bootstrap=5).fp_freedom[0] for m in (even, one, nothing)]
    assert freedoms[0] == 39
    assert 1 < freedoms[1] < 3
    assert freedoms[2] == 39
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, 500)
    spread = Matching.from_events(
        n_images=500, fp_scores=np.ones(x.sum()), fp_images=np.repeat(np.arange(500), x), **none
    )
    expected = 2 * 500 / (kurtosis(x, fisher=False) - 1)
    assert bootstrap(spread, thresholds=[0.0], n_bootstrap=5).fp_freedom[0] == pytest.approx(expected)


def test_few_sorted_false_positives_fall_back_on_all(make_matching):
    m = make_matching(7, fps_per_image=20)
    (counts,) = patient_counts(m.n_patients, 20, 0)
    few = replicate_sensitivities(SortedEvents.of(m, 30), counts, TARGETS)
    everything = replicate_sensitivities(SortedEvents.of(m, None), counts, TARGETS)
    for name in few:
        np.testing.assert_array_equal(few[name], everything[name])


def test_estimates_need_few_false_positives(make_matching, monkeypatch):
    for n_scores in (5, 10**6):
        m = make_matching(3, n_scores=n_scores, fps_per_image=12)
        expected = sensitivity_at(froc_curve(m), TARGETS)
        monkeypatch.setattr("overread.froc._bootstrap.needed_fps", lambda m, t: int(t.max() * m.n_images) + 1)
        assert bootstrap(m, fp_targets=TARGETS, n_bootstrap=1).points.equals(expected)


def test_same_seed_same_answer_whatever_the_block(make_matching, monkeypatch):
    m = make_matching(1)
    once = bootstrap(m, n_bootstrap=50, seed=3).intervals()
    monkeypatch.setattr("overread.froc._bootstrap.CHUNK_DRAWS", 200)
    assert once.equals(bootstrap(m, n_bootstrap=50, seed=3).intervals())
    assert not once.equals(bootstrap(m, n_bootstrap=50, seed=4).intervals())


def test_the_papers_own_point():
    """46 of 104 GTs at 0.5 FP per image on 660 images: about 35 to 54 %."""
    rng = np.random.default_rng(0)
    fp_images = rng.integers(0, 660, 5000)
    fp_scores = np.sort(rng.normal(size=5000))[::-1]
    threshold = (fp_scores[329] + fp_scores[330]) / 2
    m = Matching.from_events(
        n_images=660,
        fp_scores=fp_scores,
        fp_images=fp_images,
        gt_scores=threshold + np.concatenate([rng.uniform(0.1, 2, 46), -rng.uniform(0.1, 2, 58)]),
        gt_images=np.arange(104) * 6,
    )
    table = bootstrap(m, fp_targets=[0.5]).intervals().set_index("measure")
    point = table.loc["gt_sensitivity"]
    assert point["estimate"] == pytest.approx(46 / 104)
    assert 0.33 < point["lower"] < 0.37
    assert 0.52 < point["upper"] < 0.56


def test_intervals_hold_their_estimate_and_widen_with_the_level(make_matching):
    result = bootstrap(make_matching(2), fp_targets=TARGETS)
    narrow, wide = result.intervals(0.8), result.intervals(0.99)
    inside = (narrow["lower"] <= narrow["estimate"]) & (narrow["estimate"] <= narrow["upper"])
    assert inside.all()
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()
    percentile = result.intervals(method="percentile").set_index("measure").loc["gt_sensitivity"]
    expected = np.quantile(result.replicates["gt_sensitivity"], [0.025, 0.975], axis=0)
    np.testing.assert_allclose(percentile[["lower", "upper"]].T, expected)


def test_hostile_sets_have_defined_intervals():
    nothing = {"fp_scores": [], "fp_images": [], "gt_scores": [], "gt_images": []}
    empty = bootstrap(Matching.from_events(n_images=3, **nothing), n_bootstrap=5).intervals()
    assert empty.loc[empty["measure"] != "fp_per_image", "lower"].isna().all()
    one = Matching.from_events(n_images=3, **(nothing | {"gt_scores": [1.0], "gt_images": [0]}))
    ends = bootstrap(one, n_bootstrap=50).intervals().set_index("measure").loc["gt_sensitivity"].iloc[0]
    assert ends["upper"] == 1
    assert 0 < ends["lower"] < 1
    missed = Matching.from_events(n_images=3, **(nothing | {"gt_scores": [-np.inf], "gt_images": [0]}))
    ends = bootstrap(missed, n_bootstrap=50).intervals().set_index("measure")
    assert ends.loc["gt_sensitivity", "lower"].eq(0).all()
    assert ends.loc["gt_sensitivity_reached", "estimate"].isna().all()


def test_refusals(make_matching):
    m = make_matching(1)
    with pytest.raises(InvalidInputError, match="n_bootstrap"):
        bootstrap(m, n_bootstrap=0)
    with pytest.raises(InvalidInputError, match="fp_targets"):
        bootstrap(m, fp_targets=[np.nan])
    with pytest.raises(InvalidInputError, match="NaN"):
        bootstrap(m, thresholds=[np.nan])
    with pytest.raises(InvalidInputError, match="level"):
        bootstrap(m, n_bootstrap=2).intervals(95)
    with pytest.raises(InvalidInputError, match="method"):
        bootstrap(m, n_bootstrap=2).intervals(method="bca")


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
