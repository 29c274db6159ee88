"""Both crowd models against their peers, planted skills, and inputs that must be refused."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.golden.crowd_problems import make_crowd

from overread.bags import make_bags
from overread.errors import DataWarning, InvalidInputError, TableError
from overread.models import DawidSkene, RaykarCrowd
from overread.models.crowd.votes import read_votes, votes_from_marks, votes_on_bags
from overread.simulate import candidate_cohort
from overread.truth import merge_marks

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "crowd.json").read_text())


def test_dawid_skene_equals_crowd_kit():
    model, golden = DawidSkene(tol=1e-14, max_iter=5000).fit(make_crowd().votes), GOLDEN["dawid_skene"]
    assert model.prevalence_ == pytest.approx(golden["prevalence"], abs=1e-6)
    np.testing.assert_allclose(model.posterior_, golden["posterior"], atol=1e-6)
    for skill in ("sensitivity", "specificity"):
        np.testing.assert_allclose(model.reader_skills_[skill], golden[skill], atol=1e-6)


def test_raykar_on_single_instances_equals_scikit_activeml():
    problem, golden = make_crowd(), GOLDEN["raykar"]
    model = RaykarCrowd(lam=1e-7, round_tol=1e-12, max_rounds=2000).fit(problem.X, problem.votes)
    np.testing.assert_allclose(model.predict_proba(problem.X)[:, 1], golden["probability"], atol=1e-5)
    for skill in ("sensitivity", "specificity"):
        np.testing.assert_allclose(model.reader_skills_[skill], golden[skill], atol=1e-5)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (3.0, 2.0)])
def test_no_round_lowers_the_objective(prior):
    problem = make_crowd(n_bags=120)
    ids = np.arange(120) // 2
    on_pairs = problem.votes[::2]
    for model in (
        DawidSkene(sensitivity_prior=prior).fit(problem.votes),
        RaykarCrowd(lam=0.01, sensitivity_prior=prior).fit(problem.X, on_pairs, bags=ids),
    ):
        assert model.converged_
        assert np.diff(model.objectives_).min() > -1e-6


def test_planted_skills_are_found_where_each_reader_saw_few():
    problem = make_crowd(n_bags=1000, n_readers=25, votes_per_bag=4, seed=1)
    for model in (DawidSkene().fit(problem.votes), RaykarCrowd(lam=0.002).fit(problem.X, problem.votes)):
        assert np.abs(model.reader_skills_["sensitivity"] - problem.sensitivity).mean() < 0.07
        assert np.abs(model.reader_skills_["specificity"] - problem.specificity).mean() < 0.05


def test_thousands_of_votes_do_not_underflow():
    problem = make_crowd(n_bags=20, n_readers=3000, votes_per_bag=3000)
    posterior = DawidSkene().fit(problem.votes).posterior_
    np.testing.assert_array_equal(posterior > 0.5, problem.truth)


def test_readers_who_mark_all_nothing_or_copy():
    votes = make_crowd().votes
    extreme = np.column_stack([votes, np.ones(len(votes)), np.zeros(len(votes))])
    to_the_end = DawidSkene(tol=1e-14, max_iter=5000)
    model = clone(to_the_end).fit(extreme)
    assert model.reader_skills_["sensitivity"].tolist()[-2:] == [1.0, 0.0]
    assert model.reader_skills_["specificity"].tolist()[-2:] == [0.0, 1.0]
    np.testing.assert_allclose(model.posterior_, to_the_end.fit(votes).posterior_, atol=1e-6)
    copied = DawidSkene().fit(np.column_stack([votes, votes[:, 0]])).reader_skills_
    assert copied["sensitivity"].iloc[0] == pytest.approx(copied["sensitivity"].iloc[-1], abs=1e-12)


def test_warnings():
    with pytest.warns(DataWarning, match="one reader"):
        DawidSkene().fit([[1], [0], [1]])
    with pytest.warns(ConvergenceWarning):
        DawidSkene(max_iter=1).fit(make_crowd().votes)


def test_a_long_table_is_the_same_as_a_matrix():
    votes = make_crowd(n_bags=30).votes
    wide = pd.DataFrame(votes).rename_axis(index="bag_id", columns="reader_id")
    long = wide.stack().rename("label").reset_index()
    np.testing.assert_array_equal(read_votes(long).matrix, votes)


@pytest.mark.parametrize(
    "votes",
    [
        [[0, 2]],
        [[0.5, 1]],
        [["a", "b"]],
        [[np.nan, np.nan], [0, 1]],
        [[np.nan, 1], [np.nan, 0]],
        [0, 1],
        np.empty((0, 2)),
        [[np.inf, 1]],
        pd.DataFrame([[0, 1]], columns=["r", "r"]),
        pd.DataFrame({"bag_id": ["a", "a"], "reader_id": ["r", "r"], "label": [0, 1]}),
    ],
)
def test_votes_that_are_refused(votes):
    with pytest.raises(InvalidInputError):
        DawidSkene().fit(votes)


def test_features_and_settings_that_are_refused():
    problem = make_crowd(n_bags=20)
    X = problem.X.copy()
    X[3, 1] = np.nan
    for features, votes in ((X, problem.votes), (problem.X, problem.votes[:-1])):
        with pytest.raises(InvalidInputError):
            RaykarCrowd().fit(features, votes)
    with pytest.raises(InvalidInputError, match="at least 1"):
        DawidSkene(sensitivity_prior=(0, 1)).fit(problem.votes)


def test_votes_of_a_cohort_follow_the_marks():
    cohort = candidate_cohort(40, n_features=4, n_informative=2)
    truth = merge_marks(cohort.marks, cohort.readings)
    votes = votes_from_marks(truth, cohort.marks, cohort.readings)
    np.testing.assert_array_equal(np.nansum(votes.matrix, axis=1), truth["n_readers"])
    np.testing.assert_array_equal((~np.isnan(votes.matrix)).sum(axis=1), truth["n_readings"])
    bags = make_bags(cohort.candidates, cohort.features, truth)
    on_bags = votes_on_bags(bags, truth, cohort.marks, cohort.readings)
    assert not np.nansum(on_bags.matrix[bags.bag_table["truth_id"].isna()])
    model = RaykarCrowd(lam=0.01).fit(bags, on_bags)
    assert model.predict_proba(bags).shape == (len(bags), 2)
    with pytest.raises(TableError):
        votes_from_marks(truth, cohort.marks.iloc[1:], cohort.readings)
