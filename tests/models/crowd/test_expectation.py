"""The two steps of EM against sums and products written out."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from overread.errors import InvalidInputError
from overread.models.crowd._em import Prior, Priors, Skills, expect, list_votes, majority, maximize, prior_of

VOTES = np.array([[1, 0, np.nan], [1, np.nan, 1], [0, 0, 0], [np.nan, 1, 0]])
SKILLS = Skills(np.array([0.9, 0.7, 0.6]), np.array([0.8, 0.95, 0.5]))


def test_posteriors_are_bayes_rule():
    p = np.array([0.2, 0.5, 0.1, 0.9])
    found = expect(list_votes(VOTES), SKILLS, np.log(p), np.log1p(-p))
    total = 0.0
    for i, row in enumerate(VOTES):
        one, zero = p[i], 1 - p[i]
        for r, vote in enumerate(row):
            if not math.isnan(vote):
                one *= SKILLS.sensitivity[r] if vote else 1 - SKILLS.sensitivity[r]
                zero *= 1 - SKILLS.specificity[r] if vote else SKILLS.specificity[r]
        assert found.posterior[i] == pytest.approx(one / (one + zero), rel=1e-12)
        total += math.log(one + zero)
    assert found.log_likelihood == pytest.approx(total, rel=1e-12)


def test_skills_are_expected_shares():
    mu = np.array([0.9, 0.8, 0.1, 0.4])
    flat = Priors(Prior(1, 1), Prior(1, 1))
    found = maximize(list_votes(VOTES), mu, flat)
    assert found.sensitivity[0] == pytest.approx((0.9 + 0.8) / (0.9 + 0.8 + 0.1))
    assert found.specificity[1] == pytest.approx((0.1 + 0.9) / (0.1 + 0.9 + 0.6))
    np.testing.assert_allclose(majority(VOTES), [0.5, 1.0, 0.0, 0.5])


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.floats(1, 20), st.floats(1, 20), st.integers(0, 30), st.integers(1, 30))
def test_the_mode_is_that_of_a_beta_distribution(a, b, yes, no):
    prior = Prior(a, b)
    mode = float(prior.mode(float(yes), float(yes + no)))
    nearby = np.clip([mode - 1e-3, mode, mode + 1e-3], 1e-12, 1 - 1e-12)
    density = beta.logpdf(nearby, a + yes, b + no)
    assert density[1] >= max(density[0], density[2]) - 1e-9


def test_a_reader_who_never_errs_gives_no_nan():
    sure = Skills(np.array([1.0, 0.7, 0.6]), np.array([1.0, 0.95, 0.5]))
    found = expect(list_votes(VOTES), sure, np.log(np.full(4, 0.3)), np.log(np.full(4, 0.7)))
    np.testing.assert_allclose(found.posterior[:3], [1.0, 1.0, 0.0])


@pytest.mark.parametrize("value", [(0, 1), (1,), "ab", None, (np.nan, 1), (1, np.inf)])
def test_priors_that_are_refused(value):
    with pytest.raises(InvalidInputError, match="sensitivity_prior"):
        prior_of(value, "sensitivity_prior")
