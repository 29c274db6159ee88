"""The rounds of EM: no round lowers the objective, and what the fit says.

The two steps of EM against sums and products written out.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.exceptions import ConvergenceWarning
from tests.golden.crowd_problems import make_crowd

from overread.errors import DataWarning, InvalidInputError
from overread.models import DawidSkene, RaykarCrowd
from overread.models.crowd._em import Prior, prior_of


@pytest.mark.parametrize("prior", [(1.0, 1.0), (3.0, 2.0)])
def test_no_round_lowers_the_objective(prior):
    problem = make_crowd(n_bags=120)
    pairs = np.arange(120) // 2
    for model in (
        DawidSkene(sensitivity_prior=prior).fit(problem.votes),
        RaykarCrowd(alpha=0.01, sensitivity_prior=prior).fit(problem.X, problem.votes[::2], bags=pairs),
    ):
        assert model.converged_
        assert np.diff(model.objectives_).min() > -1e-6


def test_too_few_rounds_are_said():
    with pytest.warns(ConvergenceWarning, match="after 1 rounds"):
        DawidSkene(max_iter=1).fit(make_crowd().votes)


@pytest.mark.parametrize("n_readers", [1, 2])
def test_one_or_two_readers_determine_nothing(n_readers):
    votes = make_crowd(n_readers=n_readers, votes_per_bag=n_readers).votes
    with pytest.warns(DataWarning, match=rf"\({n_readers} readers\) do not determine"):
        model = DawidSkene().fit(votes)
    assert not model.determined_
    held = {"sensitivity_prior": (8.0, 2.0), "specificity_prior": (8.0, 2.0)}
    assert DawidSkene(**held).fit(votes).determined_


def test_readers_who_never_share_a_bag_determine_nothing():
    votes = np.full((90, 3), np.nan)
    for i in range(90):
        votes[i, i % 3] = (i // 3) % 2
    with pytest.warns(DataWarning, match="do not determine"):
        assert not DawidSkene().fit(votes).determined_


def test_readers_worse_than_chance_on_the_whole_are_named():
    """The start follows the majority, so that such readers exchange the labels; one of several is simply found."""
    random = np.random.default_rng(0)
    truth = random.random(400) < 0.4
    right = random.random((400, 5)) < [0.9, 0.9, 0.85, 0.9, 0.2]
    votes = np.where(right, truth[:, None], ~truth[:, None]).astype(float)
    model = DawidSkene().fit(votes)
    assert model.reader_skills_["sensitivity"].iloc[-1] < 0.35
    assert model.reader_skills_["specificity"].iloc[-1] < 0.35
    assert ((model.posterior_ > 0.5) == truth).mean() > 0.97
    held = {"sensitivity_prior": (1.0, 400.0), "specificity_prior": (1.0, 400.0)}
    with pytest.warns(DataWarning, match="worse than chance"):
        DawidSkene(**held).fit(votes)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.floats(1, 20), st.floats(1, 20), st.integers(0, 30), st.integers(1, 30))
def test_the_mode_is_that_of_a_beta_distribution(a, b, yes, no):
    prior = Prior(a, b)
    mode = float(prior.mode(float(yes), float(yes + no)))
    nearby = np.clip([mode - 1e-3, mode, mode + 1e-3], 1e-12, 1 - 1e-12)
    density = beta.logpdf(nearby, a + yes, b + no)
    assert density[1] >= max(density[0], density[2]) - 1e-9


@pytest.mark.parametrize("value", [(0, 1), (1,), "ab", None, (np.nan, 1), (1, np.inf)])
def test_priors_that_are_refused(value):
    with pytest.raises(InvalidInputError, match="sensitivity_prior"):
        prior_of(value, "sensitivity_prior")
