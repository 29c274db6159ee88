"""Calibration against scikit-learn on hard labels, duplication of bags on soft ones, and known models.

Recalibration against searches that know nothing of Newton's method, and against finite differences.
"""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from overread.errors import InvalidInputError
from overread.froc import calibration, patient_counts
from overread.froc._calibration import clip_logit, offset_in_the_large, recalibrate
from overread.froc._kernels import sum_cross_entropy


def hard(n=400, seed=1, slope=1.0, intercept=0.0):
    """Probabilities whose labels follow sigma(intercept + slope logit p)."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(-0.5, 1.5, n))
    return p, (rng.uniform(size=n) < expit(intercept + slope * logit(p))).astype(float)


def test_scores_on_hard_labels_as_in_scikit_learn():
    p, y = hard()
    weight = np.random.default_rng(2).uniform(0.1, 2, len(p))
    found = calibration(p, y, sample_weight=weight, n_bootstrap=0)
    assert found.brier.estimate == pytest.approx(brier_score_loss(y, p, sample_weight=weight))
    assert found.kl.estimate == pytest.approx(log_loss(y, p, sample_weight=weight))
    mean = np.full_like(p, np.average(y, weights=weight))
    assert found.kl_of_the_mean == pytest.approx(log_loss(y, mean, sample_weight=weight))
    assert np.isnan(found.slope.lower)


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_reliability_on_hard_labels_as_in_scikit_learn(strategy):
    p, y = hard()
    label, probability = calibration_curve(y, p, n_bins=8, strategy=strategy)
    found = calibration(p, y, n_bins=8, strategy=strategy, n_bootstrap=0).reliability
    np.testing.assert_allclose(found.mean_probability, probability)
    np.testing.assert_allclose(found.mean_label, label)
    assert found.n_bags.sum() == len(p)


def test_slope_and_intercept_as_an_unpenalized_logistic_regression():
    p, y = hard(slope=0.6, intercept=-0.4)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logit(p)[:, None], y)
    found = calibration(p, y, n_bootstrap=0)
    assert found.slope.estimate == pytest.approx(model.coef_[0, 0], rel=1e-5)
    assert found.intercept.estimate == pytest.approx(model.intercept_[0], rel=1e-5)


def test_a_soft_label_is_a_share_of_hard_ones():
    """A bag with label 1/4 is one positive and three negatives: same slope, Brier and KL up to constants."""
    rng = np.random.default_rng(3)
    p = expit(rng.normal(size=60))
    quarters = rng.integers(0, 5, 60)
    found = calibration(p, quarters / 4, n_bootstrap=0)
    hard_labels = np.concatenate([np.repeat([1.0, 0.0], [k, 4 - k]) for k in quarters])
    split = calibration(np.repeat(p, 4), hard_labels, n_bootstrap=0)
    assert found.slope.estimate == pytest.approx(split.slope.estimate)
    assert found.offset.estimate == pytest.approx(split.offset.estimate)
    y = quarters / 4
    assert found.brier.estimate == pytest.approx(split.brier.estimate - np.mean(y * (1 - y)))
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nan_to_num(y * np.log(y)) - np.nan_to_num((1 - y) * np.log(1 - y))
    assert found.kl.estimate == pytest.approx(split.kl.estimate - entropy.mean())


def test_integer_weights_are_copies():
    p, y = hard(80)
    copies = np.random.default_rng(4).integers(0, 4, 80)
    weighted = calibration(p, y, sample_weight=copies, n_bootstrap=0)
    repeated = calibration(np.repeat(p, copies), np.repeat(y, copies), n_bootstrap=0)
    for name in ("brier", "kl", "slope", "intercept", "offset"):
        assert getattr(weighted, name).estimate == pytest.approx(getattr(repeated, name).estimate, rel=1e-8)


def test_intervals_hold_what_is_true():
    """A calibrated model has slope 1 and offset 0; the same seed gives the same interval."""
    p, y = hard(600, seed=5)
    found = calibration(p, y, n_bootstrap=200, seed=1)
    assert found.slope.lower < 1 < found.slope.upper
    assert found.offset.lower < 0 < found.offset.upper
    again = calibration(p, y, n_bootstrap=200, seed=1)
    assert again.slope == found.slope
    below = found.reliability.label_lower <= found.reliability.mean_label
    assert np.all(below & (found.reliability.mean_label <= found.reliability.label_upper))


def test_probabilities_of_0_and_1():
    certain = calibration([0.0, 1.0, 0.5], [0.0, 1.0, 0.5], n_bootstrap=0)
    assert certain.kl.estimate == 0
    wrong = calibration([0.0, 0.5, 0.7], [0.2, 0.5, 0.7], n_bootstrap=20)
    assert wrong.kl.estimate == np.inf
    assert np.isfinite(wrong.slope.estimate)
    ignored = calibration([0.0, 0.5, 0.7], [0.2, 0.5, 0.7], sample_weight=[0, 1, 1], n_bootstrap=0)
    assert ignored.kl.estimate == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.3, 0.3], [0.0, 1.0]),
        ([0.1, 0.9], [0.0, 1.0]),
        ([0.1, 0.9], [1.0, 0.0]),
        ([0.1, 0.9], [0.0, 0.0]),
        ([0.1, 0.5, 0.9], [0.0, 0.4, 1.0]),
    ],
)
def test_no_slope_where_none_exists(p, y):
    found = calibration(p, y, n_bootstrap=0)
    assert np.isnan(found.slope.estimate)
    assert np.isfinite(found.brier.estimate)


@pytest.mark.parametrize(
    ("p", "y", "options", "words"),
    [
        ([0.5, np.nan], [0, 1], {}, r"probabilities\[1\]"),
        ([0.5, 1.1], [0, 1], {}, r"probabilities\[1\]"),
        ([0.5, 0.1], [0, -1e-17], {}, r"labels\[1\]"),
        ([[0.5]], [[1]], {}, "one dimension"),
        ([0.5], [0, 1], {}, "1 probabilities, 2 labels"),
        ([], [], {}, "no bags"),
        ([0.5, 0.1], [0, 1], {"sample_weight": [0, 0]}, "not all"),
        ([0.5, 0.1], [0, 1], {"sample_weight": [1, -1]}, "at least 0"),
        ([0.5, 0.1], [0, 1], {"n_bins": 0}, "n_bins"),
        ([0.5, 0.1], [0, 1], {"strategy": "even"}, "quantile"),
        ([0.5, 0.1], [0, 1], {"patients": ["a"]}, "one id"),
        ([0.5, 0.1], [0, 1], {"level": 2.0}, "level"),
    ],
)
def test_hostile_input_is_refused(p, y, options, words):
    with pytest.raises(InvalidInputError, match=words):
        calibration(p, y, n_bootstrap=2, **options)


def test_one_patient_has_no_interval_of_zero_width():
    random = np.random.default_rng(0)
    probabilities, labels = random.uniform(size=50), random.uniform(size=50)
    alone = calibration(probabilities, labels, patients=["p"] * 50, n_bootstrap=100)
    several = calibration(probabilities, labels, patients=["p", "q"] * 25, n_bootstrap=100)
    for name in ("brier", "kl", "slope", "intercept", "offset"):
        found = getattr(alone, name)
        assert np.isfinite(found.estimate)
        assert np.isnan([found.lower, found.upper]).all()
        assert getattr(several, name).lower < getattr(several, name).upper
    assert np.isnan(alone.reliability.label_lower).all()


def test_a_replicate_is_what_its_patients_alone_would_give():
    """The intervals are percentiles of the estimates of resampled tables, each assessed by itself."""
    p, y = hard(120, seed=8)
    y = np.where(y > 0, 0.75, y)
    patients = np.arange(120) // 3
    found = calibration(p, y, patients=patients, n_bootstrap=30, seed=3, n_bins=4, level=0.5)
    edges = found.reliability.edges
    alone = {name: [] for name in ("brier", "kl", "slope", "intercept", "offset")}
    labels = []
    for counts in patient_counts(40, 30, 3):
        for count in counts:
            rows = np.repeat(np.arange(120), count[patients])
            one = calibration(p[rows], y[rows], n_bootstrap=0)
            for name, values in alone.items():
                values.append(getattr(one, name).estimate)
            which = np.searchsorted(edges[1:-1], p[rows], side="left")
            labels.append([y[rows][which == k].mean() for k in range(4)])
    for name, values in alone.items():
        interval = getattr(found, name)
        assert (interval.lower, interval.upper) == pytest.approx(
            tuple(np.quantile(values, [0.25, 0.75])), abs=1e-7
        )
    np.testing.assert_allclose(found.reliability.label_lower, np.quantile(labels, 0.25, axis=0), rtol=1e-9)


def draw(n=300, seed=2):
    """Logits, soft labels and weights, some of them 0."""
    random = np.random.default_rng(seed)
    z = random.normal(-1, 2, n)
    y = np.where(random.random(n) < expit(0.5 + 0.7 * z), random.choice([0.25, 0.5, 1.0], n), 0.0)
    return z, y, random.integers(0, 3, n).astype(float)


def soft_loss(found, z, y, weight):
    margin = found[0] + found[1] * z
    return weight @ (np.logaddexp(0, margin) - y * margin)


@pytest.mark.parametrize("start", [(0.0, 0.0), (3.0, -2.0), (np.nan, 1.0)])
def test_the_recalibration_is_the_minimum_that_a_plain_search_finds(start):
    z, y, weight = draw()
    expected = minimize(
        soft_loss, np.zeros(2), (z, y, weight), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    np.testing.assert_allclose(recalibrate(z, y, weight, np.array(start)), expected.x, atol=1e-6)


def test_gradient_and_curvature_are_those_of_the_loss():
    z, y, weight = draw(50)
    at = np.array([0.3, -0.6])
    sums = sum_cross_entropy(z, y, weight, *at)
    assert sums[0] == pytest.approx(soft_loss(at, z, y, weight))
    step = 1e-5
    for k, direction in enumerate(np.eye(2)):
        ends = [sum_cross_entropy(z, y, weight, *(at + sign * step * direction)) for sign in (1, -1)]
        change = (ends[0] - ends[1]) / (2 * step)
        assert change[0] == pytest.approx(sums[1 + k], rel=1e-6)
        np.testing.assert_allclose(change[1:3], sums[[3 + k, 4 + k]], rtol=1e-6)


@pytest.mark.parametrize("start", [0.0, 5.0, -70.0, np.nan])
@pytest.mark.parametrize("shift", [0.0, -3.0, 25.0, 60.0])
def test_the_offset_is_the_root_that_a_plain_search_finds(shift, start):
    """Also where Newton's first steps go astray: probabilities near 0 or 1, far from their labels."""
    random = np.random.default_rng(2)
    z = random.normal(-3, 3, 400)
    y, weight = (random.random(400) < expit(z)).astype(float), random.integers(0, 3, 400).astype(float)
    clipped = clip_logit(expit(np.clip(z + shift, -36, 36)))
    expected = brentq(lambda a: weight @ (expit(clipped + a) - y), -80, 80, xtol=1e-13)
    assert offset_in_the_large(clipped, y, weight, start) == pytest.approx(expected, abs=1e-9)
