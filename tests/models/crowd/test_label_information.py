"""Information on the weights of a multiple-instance model, against finite differences of the votes' likelihood."""

import numpy as np
import pytest
from scipy.special import expit, logit
from tests.golden.crowd_problems import make_bag_crowd
from tests.models.crowd.test_intervals import second_differences

from overread.bags import Bags
from overread.models import ElasticNet, RaykarCrowd
from overread.models.crowd._em import (
    Prior,
    VoteList,
    expect,
    label_part,
    observed_information,
)
from overread.models.loss._bag_loss import pool

FLAT = Prior(1, 1), Prior(1, 1)


@pytest.mark.parametrize("pooling", ["noisy_or", "noisy_or_mean", "mean", "log_sum_exp"])
@pytest.mark.parametrize(("fit_intercept", "l1_ratio"), [(True, 1.0), (False, 1.0), (True, 0.2)])
def test_variances_are_those_of_the_likelihood(pooling, fit_intercept, l1_ratio):
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
        problem.votes, model.posterior_, skills, FLAT, label_part(model, bags, model.posterior_)
    )
    np.testing.assert_allclose(np.concatenate(found, axis=None), expected, rtol=2e-3)
