"""The observed information against finite differences of the likelihood, and the coverage of the intervals."""

import numpy as np
import pytest
from benchmarks.crowd_coverage import coverage
from scipy.special import expit, logit
from scipy.stats import norm
from tests.golden.crowd_problems import make_bag_crowd, make_crowd

from overread.bags import Bags
from overread.models import DawidSkene, ElasticNet, RaykarCrowd
from overread.models.crowd._em import (
    Prior,
    VoteList,
    expect,
    label_part,
    logit_interval,
    observed_information,
)
from overread.models.loss._bag_loss import pool


def second_differences(function, x, step=1e-3):
    """Matrix of second derivatives by central differences."""
    p = len(x)
    H = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            a, b = np.eye(p)[i] * step, np.eye(p)[j] * step
            H[i, j] = function(x + a + b) - function(x + a - b) - function(x - a + b) + function(x - a - b)
    return H / (4 * step**2)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (4.0, 2.5)])
def test_variances_are_those_of_the_likelihood(prior):
    votes = make_crowd(n_bags=300, n_readers=5, votes_per_bag=4, seed=2).votes
    model = DawidSkene(
        sensitivity_prior=prior, specificity_prior=prior, prevalence_prior=prior, tol=1e-15, max_iter=20000
    ).fit(votes)
    beta, R = Prior(*prior), 5

    def minus_log_posterior(theta):
        alpha, bet, pi = expit(theta[:R]), expit(theta[R : 2 * R]), float(expit(theta[-1]))
        likelihood = expect(VoteList(votes), np.stack([alpha, bet]), np.log(pi), np.log1p(-pi))[1]
        return -likelihood - beta.log_density(expit(theta))

    theta = np.concatenate([logit(model.sensitivity_), logit(model.specificity_), [logit(model.prevalence_)]])
    expected = np.diag(np.linalg.inv(second_differences(minus_log_posterior, theta)))
    information = (300 + beta.weight) * model.prevalence_ * (1 - model.prevalence_)
    part = np.ones((300, 1)), np.array([[information]])
    skills = np.stack([model.sensitivity_, model.specificity_])
    *found, share = observed_information(votes, model.posterior_, skills, (beta, beta), part)
    np.testing.assert_allclose(np.concatenate(found, axis=None), expected, rtol=1e-3)
    assert 0 < share < 1


@pytest.mark.parametrize("pooling", ["noisy_or", "noisy_or_mean", "mean", "log_sum_exp"])
@pytest.mark.parametrize(("fit_intercept", "l1_ratio"), [(True, 1.0), (False, 1.0), (True, 0.2)])
def test_variances_of_the_weights_are_those_of_the_likelihood(pooling, fit_intercept, l1_ratio):
    problem = make_bag_crowd(n_bags=400, n_readers=4, votes_per_bag=4, seed=3)
    bags = Bags.from_ids(problem.X, problem.bag_of_row)
    model = RaykarCrowd(
        alpha=0.005,
        penalty=ElasticNet(l1_ratio),
        pooling=pooling,
        fit_intercept=fit_intercept,
        round_tol=1e-13,
        tol=1e-9,
        max_rounds=3000,
    ).fit(bags, problem.votes)
    R, used = 4, np.flatnonzero(model.coef_[0])
    assert len(used)
    scale, centre = model.scale_[used], model.mean_[used]
    X = (problem.X[:, used] - centre) / scale

    def minus_log_likelihood(theta):
        skills = expit(theta[: 2 * R]).reshape(2, R)
        w = theta[2 * R : 2 * R + len(used)]
        z = X @ w + (theta[-1] if fit_intercept else offset)
        log_p, log_q = pool(z, bags.offsets, pooling)
        ridge = 400 * 0.005 * (1 - l1_ratio)
        return -expect(VoteList(problem.votes), skills, log_p, log_q)[1] + ridge / 2 * w @ w

    w = model.coef_[0][used] * scale
    offset = model.intercept_[0] + centre @ model.coef_[0][used]
    theta = np.concatenate(
        [logit(model.sensitivity_), logit(model.specificity_), w, [offset] * fit_intercept]
    )
    expected = np.diag(np.linalg.inv(second_differences(minus_log_likelihood, theta)))
    skills = np.stack([model.sensitivity_, model.specificity_])
    *found, _ = observed_information(
        problem.votes,
        model.posterior_,
        skills,
        (Prior(1, 1), Prior(1, 1)),
        label_part(model, bags, model.posterior_),
    )
    np.testing.assert_allclose(np.concatenate(found, axis=None), expected, rtol=2e-3)


def test_with_known_labels_it_is_the_interval_of_a_share():
    """Many perfect readers fix the labels; then Gart's interval with half a vote added (Agresti 2013, 3.1.2)."""
    random = np.random.default_rng(0)
    truth = random.random(200) < 0.4
    one = np.where(random.random(200) < 0.8, truth, ~truth)
    votes = np.column_stack([one, *[truth] * 6]).astype(float)
    model = DawidSkene().fit(votes)
    yes, no = (one & truth).sum() + 0.5, (~one & truth).sum() + 0.5
    reach = norm.ppf(0.975) * np.sqrt(1 / yes + 1 / no)
    expected = expit(np.log(yes / no) + np.array([-reach, reach]))
    np.testing.assert_allclose(model.sensitivity_interval_[0], expected, atol=1e-3)


def test_wide_and_tall_votes_agree():
    """Either product of the matrix with itself gives the same variances."""
    random = np.random.default_rng(0)
    votes = make_crowd(n_bags=9, n_readers=30, votes_per_bag=20, seed=1).votes
    mu = random.uniform(0.005, 0.02, 9)
    skills = random.uniform(0.6, 0.9, (2, 30))
    priors, part = (Prior(20, 20), Prior(20, 20)), (np.ones((9, 1)), np.array([[2.0]]))
    wide = observed_information(votes, mu, skills, priors, part)
    # Bags without votes and with a certain label add nothing, but make the matrix tall.
    tall_votes = np.vstack([votes, np.full((100, 30), np.nan)])
    tall_part = np.vstack([part[0], np.zeros((100, 1))]), part[1]
    tall = observed_information(tall_votes, np.append(mu, np.ones(100)), skills, priors, tall_part)
    for one, other in zip(wide[:2], tall[:2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    assert wide[2] == pytest.approx(tall[2], abs=1e-9)


def test_limits_of_a_share():
    low, high = logit_interval(np.array([0.5, 0.9]), np.array([0.0, np.inf]))
    np.testing.assert_allclose([low, high], [[0.5, 0.0], [0.5, 1.0]])


@pytest.mark.slow
@pytest.mark.parametrize("bags", [1000, 200, 100])
def test_coverage_is_what_it_says(bags):
    """160 votes a reader of 25, and 40 and 20 of 20: a nominal 95 % within 93 to 97 %, errors of simulation aside."""
    found = coverage("Dawid-Skene", n_bags=bags, n_readers=25 if bags == 1000 else 20, seeds=150)
    for skill in ("sensitivity", "specificity"):
        rate, error = found[skill].rate, found[skill].error
        assert 0.93 - 2 * error < rate < 0.97 + 2 * error
    assert found["sensitivity"].error < 0.01


@pytest.mark.slow
def test_coverage_of_raykar():
    found = coverage("Raykar", n_bags=300, n_readers=10, seeds=60)
    for skill in ("sensitivity", "specificity"):
        rate, error = found[skill].rate, found[skill].error
        assert 0.93 - 2 * error < rate < 0.97 + 2 * error
