"""DawidSkene against crowd-kit, an independent EM, the published example, and planted skills."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from tests.golden.crowd_problems import make_crowd
from tests.models.crowd.independent_em import (
    ANAESTHETISTS,
    FIRST_OBSERVER,
    OBSERVERS,
    PREVALENCE,
    dawid_skene,
)

from overread.errors import DataWarning, InvalidInputError
from overread.models import DawidSkene

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "crowd.json").read_text())["dawid_skene"]
TO_THE_END = DawidSkene(tol=1e-14, max_iter=5000)


@pytest.fixture(scope="module")
def published():
    """The independent EM on the published data, four classes."""
    answers = [[(o, int(c) - 1) for o, c in zip(OBSERVERS, row, strict=True)] for row in ANAESTHETISTS]
    return dawid_skene(answers, 4, rounds=300)


def test_it_equals_crowd_kit():
    model = clone(TO_THE_END).fit(make_crowd().votes)
    assert model.prevalence_ == pytest.approx(GOLDEN["prevalence"], abs=1e-6)
    np.testing.assert_allclose(model.posterior_, GOLDEN["posterior"], atol=1e-6)
    for skill in ("sensitivity", "specificity"):
        np.testing.assert_allclose(model.reader_skills_[skill], GOLDEN[skill], atol=1e-6)


def test_it_equals_an_independent_em():
    votes = make_crowd(n_bags=60, seed=4).votes
    answers = [[(r, int(v)) for r, v in enumerate(row) if not np.isnan(v)] for row in votes]
    posterior, share, errors = dawid_skene(answers, 2, rounds=800)
    model = clone(TO_THE_END).fit(votes)
    np.testing.assert_allclose(model.posterior_, np.array(posterior)[:, 1], atol=1e-6)
    assert model.prevalence_ == pytest.approx(share[1], abs=1e-6)
    np.testing.assert_allclose(model.sensitivity_, [errors[r][1][1] for r in range(6)], atol=1e-6)
    np.testing.assert_allclose(model.specificity_, [errors[r][0][0] for r in range(6)], atol=1e-6)


def test_the_independent_em_gives_the_published_estimates(published):
    """Dawid and Skene (1979), Applied Statistics 28, 20-28: their estimates, printed to two decimals."""
    _, share, errors = published
    np.testing.assert_allclose(share, PREVALENCE, atol=0.005)
    np.testing.assert_allclose(errors[0], FIRST_OBSERVER, atol=0.0051)


def test_the_published_example_in_two_classes(published):
    """Class 1 against the rest, every assessment a reader of its own: same as the loops, near the published."""
    votes = np.array([[int(c) > 1 for c in row] for row in ANAESTHETISTS], dtype=float)
    model = clone(TO_THE_END).fit(votes)
    loops = dawid_skene([[(r, int(v)) for r, v in enumerate(row)] for row in votes], 2, rounds=500)
    np.testing.assert_allclose(model.posterior_, np.array(loops[0])[:, 1], atol=1e-6)
    in_class_1 = np.array(published[0])[:, 0] > 0.5
    assert in_class_1.sum() == 18
    np.testing.assert_array_equal(model.posterior_ < 0.5, in_class_1)
    assert 1 - model.prevalence_ == pytest.approx(PREVALENCE[0], abs=0.02)
    assert model.specificity_[:3].mean() == pytest.approx(FIRST_OBSERVER[0][0], abs=0.02)


@pytest.mark.parametrize(("n_bags", "n_readers", "error"), [(1000, 25, 0.07), (150, 20, 0.16)])
def test_planted_skills_are_found_where_each_reader_saw_few(n_bags, n_readers, error):
    """160 and 30 votes a reader; the error expected of one binomial share of so many positives is 0.04 and 0.11."""
    problem = make_crowd(n_bags=n_bags, n_readers=n_readers, votes_per_bag=4, seed=1)
    model = DawidSkene().fit(problem.votes)
    assert np.abs(model.sensitivity_ - problem.sensitivity).mean() < error
    assert np.abs(model.specificity_ - problem.specificity).mean() < error
    low, high = model.prevalence_interval_
    assert low < problem.truth.mean() < high


@pytest.mark.parametrize("n_seeds", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_priors_help_where_each_reader_saw_few(n_seeds):
    held = DawidSkene(sensitivity_prior=(9, 3), specificity_prior=(10, 2.5))
    errors = {"flat": [], "held": []}
    for seed in range(n_seeds):
        problem = make_crowd(n_bags=100, n_readers=20, votes_per_bag=4, seed=seed)
        for name, model in (("flat", DawidSkene()), ("held", clone(held))):
            errors[name].append(np.abs(model.fit(problem.votes).sensitivity_ - problem.sensitivity).mean())
    assert np.mean(errors["held"]) < 0.6 * np.mean(errors["flat"])


def test_thousands_of_votes_do_not_underflow():
    problem = make_crowd(n_bags=20, n_readers=3000, votes_per_bag=3000)
    np.testing.assert_array_equal(DawidSkene().fit(problem.votes).posterior_ > 0.5, problem.truth)


def test_a_reader_who_marked_everything_or_nothing_has_no_say():
    votes = make_crowd().votes
    extreme = np.column_stack([votes, np.ones(len(votes)), np.zeros(len(votes))])
    model = clone(TO_THE_END).fit(extreme)
    assert model.sensitivity_.tolist()[-2:] == [1.0, 0.0]
    assert model.specificity_.tolist()[-2:] == [0.0, 1.0]
    np.testing.assert_allclose(model.posterior_, clone(TO_THE_END).fit(votes).posterior_, atol=1e-6)
    limits = model.reader_skills_.iloc[-2:]
    assert (limits["sensitivity_low"].iloc[0], limits["sensitivity_high"].iloc[1]) == pytest.approx(
        (1, 0), abs=0.1
    )


@pytest.mark.parametrize("vote", [0.0, 1.0])
def test_votes_of_one_class_give_that_class(vote):
    with pytest.warns(DataWarning, match=f"every vote is {vote:g}"):
        model = DawidSkene().fit(np.full((30, 4), vote))
    np.testing.assert_array_equal(model.posterior_, vote)
    assert model.prevalence_ == vote
    right = model.sensitivity_ if vote else model.specificity_
    np.testing.assert_array_equal(right, 1.0)
    limits = model.reader_skills_.filter(regex="low|high").to_numpy()
    assert np.isfinite(limits).all()
    other = model.reader_skills_["specificity_high" if vote else "sensitivity_high"]
    other_low = model.reader_skills_["specificity_low" if vote else "sensitivity_low"]
    assert (other - other_low > 0.8).all()


def test_settings_that_are_refused():
    votes = make_crowd(n_bags=20).votes
    for name, value in (("tol", -1), ("max_iter", 0), ("prevalence_prior", (0, 1)), ("tol", "a")):
        with pytest.raises(InvalidInputError, match=name):
            DawidSkene(**{name: value}).fit(votes)
