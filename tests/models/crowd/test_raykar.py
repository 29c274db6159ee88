"""RaykarCrowd against scikit-activeml, an independent EM, planted skills, and readers who do not read."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import mannwhitneyu
from tests.golden.crowd_problems import make_bag_crowd, make_crowd

from overread.bags import Bags, make_bags
from overread.errors import DataWarning, InvalidInputError
from overread.models import RaykarCrowd, votes_on_bags
from overread.simulate import candidate_cohort
from overread.truth import candidate_hits, merge_marks

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "crowd.json").read_text())["raykar"]


def test_on_single_instances_it_equals_scikit_activeml():
    problem = make_crowd()
    model = RaykarCrowd(alpha=1e-7, round_tol=1e-12, max_rounds=2000).fit(problem.X, problem.votes)
    np.testing.assert_allclose(model.predict_proba(problem.X)[:, 1], GOLDEN["probability"], atol=1e-5)
    for skill in ("sensitivity", "specificity"):
        np.testing.assert_allclose(model.reader_skills_[skill], GOLDEN[skill], atol=1e-5)


def test_on_bags_it_equals_an_independent_em():
    """Raykar et al. (2010), section 2.3, with the noisy-or, written as loops over bags and readers."""
    problem = make_bag_crowd(n_bags=60, seed=2)
    members = [np.flatnonzero(problem.bag_of_row == i) for i in range(60)]
    read = ~np.isnan(problem.votes)
    mu = np.array([problem.votes[i][read[i]].mean() for i in range(60)])
    design = np.column_stack([problem.X, np.ones(len(problem.X))])

    def probability(theta):
        z = design @ theta
        return 1 - np.array([np.prod(1 / (1 + np.exp(z[rows]))) for rows in members])

    def divergence(theta):
        p = np.clip(probability(theta), 1e-12, 1 - 1e-12)
        return -np.sum(mu * np.log(p) + (1 - mu) * np.log(1 - p))

    theta = np.array([0.0, 0.0, 0.0, -1.0])
    for _ in range(40):
        alpha = [sum(mu[i] * problem.votes[i, r] for i in range(60) if read[i, r]) for r in range(6)]
        alpha = np.array(alpha) / (mu @ read)
        beta = [
            sum((1 - mu[i]) * (1 - problem.votes[i, r]) for i in range(60) if read[i, r]) for r in range(6)
        ]
        beta = np.array(beta) / ((1 - mu) @ read)
        theta = minimize(divergence, theta, method="BFGS", options={"gtol": 1e-6}).x
        p = probability(theta)
        for i in range(60):
            one, zero = p[i], 1 - p[i]
            for r in np.flatnonzero(read[i]):
                one *= alpha[r] if problem.votes[i, r] else 1 - alpha[r]
                zero *= 1 - beta[r] if problem.votes[i, r] else beta[r]
            mu[i] = one / (one + zero)
    model = RaykarCrowd(alpha=1e-7, round_tol=1e-11, max_rounds=2000)
    model.fit(problem.X, problem.votes, bags=problem.bag_of_row)
    np.testing.assert_allclose(model.posterior_, mu, atol=2e-3)
    np.testing.assert_allclose(model.sensitivity_, alpha, atol=2e-3)
    np.testing.assert_allclose(model.specificity_, beta, atol=2e-3)
    np.testing.assert_allclose(model.coef_[0], theta[:3], atol=2e-2)


@pytest.mark.parametrize(("n_bags", "error"), [(800, 0.07), (160, 0.13)])
def test_planted_skills_are_found_on_bags(n_bags, error):
    """160 and 32 votes of each of 20 readers."""
    problem = make_bag_crowd(n_bags=n_bags, n_readers=20, votes_per_bag=4, seed=1)
    bags = Bags.from_ids(problem.X, problem.bag_of_row)
    model = RaykarCrowd(alpha=0.003).fit(bags, problem.votes)
    assert np.abs(model.sensitivity_ - problem.sensitivity).mean() < error
    assert np.abs(model.specificity_ - problem.specificity).mean() < error
    assert model.coef_[0][0] > 0 > model.coef_[0][1]


def test_a_reader_worse_than_chance_is_turned_round():
    problem = make_bag_crowd(n_bags=500, n_readers=5, votes_per_bag=5, seed=3)
    votes = problem.votes.copy()
    votes[:, 4] = 1 - votes[:, 4]
    model = RaykarCrowd(alpha=0.003).fit(problem.X, votes, bags=problem.bag_of_row)
    assert model.sensitivity_[4] == pytest.approx(1 - problem.sensitivity[4], abs=0.1)
    assert model.specificity_[4] == pytest.approx(1 - problem.specificity[4], abs=0.1)
    assert ((model.posterior_ > 0.5) == problem.truth).mean() > 0.9


def test_readers_who_marked_everything_nothing_or_copied():
    problem = make_bag_crowd(n_bags=200, seed=4)
    plain = RaykarCrowd(alpha=0.01, round_tol=1e-10).fit(problem.X, problem.votes, bags=problem.bag_of_row)
    n = len(problem.votes)
    extreme = np.column_stack([problem.votes, np.ones(n), np.zeros(n), problem.votes[:, 0]])
    for chosen, skills in (([6, 7], ([1.0, 0.0], [0.0, 1.0])), ([8], None)):
        votes = extreme[:, [*range(6), *chosen]]
        model = RaykarCrowd(alpha=0.01, round_tol=1e-10).fit(problem.X, votes, bags=problem.bag_of_row)
        if skills:
            np.testing.assert_array_equal([model.sensitivity_[6:], model.specificity_[6:]], skills)
            np.testing.assert_allclose(model.posterior_, plain.posterior_, atol=1e-3)
        else:
            assert model.sensitivity_[6] == pytest.approx(model.sensitivity_[0], abs=1e-12)
            assert model.sensitivity_[0] > plain.sensitivity_[0]


@pytest.mark.parametrize("vote", [0.0, 1.0])
def test_votes_of_one_class_give_the_null_model(vote):
    problem = make_bag_crowd(n_bags=40)
    with pytest.warns(DataWarning, match=f"every vote is {vote:g}"):
        model = RaykarCrowd(alpha=0.01).fit(problem.X, np.full((40, 4), vote), bags=problem.bag_of_row)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.posterior_, vote, atol=1e-6)
    assert np.isfinite(model.reader_skills_.filter(regex="low|high").to_numpy()).all()


def test_features_and_settings_that_are_refused():
    problem = make_crowd(n_bags=20)
    X = problem.X.copy()
    X[3, 1] = np.nan
    for features, votes, match in (
        (X, problem.votes, "3"),
        (problem.X, problem.votes[:-1], "19 bags for 20"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            RaykarCrowd().fit(features, votes)
    for name, value in (("alpha", -1.0), ("round_tol", -1), ("max_rounds", 0), ("sensitivity_prior", (0, 1))):
        with pytest.raises(InvalidInputError, match=name):
            RaykarCrowd(**{name: value}).fit(problem.X, problem.votes)


def test_look_alikes_are_why_its_labels_are_too_high():
    """They deceive all readers together; without them GTs where no lesion is get low labels."""
    labels_of_none: dict[float, list[float]] = {0.0: [], 0.6: []}
    for (lookalikes, labels), seed in product(labels_of_none.items(), range(3)):
        cohort = candidate_cohort(
            400, n_features=10, n_informative=5, lookalikes_per_image=lookalikes, seed=seed
        )
        truth = merge_marks(cohort.marks, cohort.readings)
        bags = make_bags(cohort.candidates, cohort.features, truth)
        model = RaykarCrowd(alpha=0.002).fit(bags, votes_on_bags(bags, truth, cohort.marks, cohort.readings))
        hit = truth.iloc[candidate_hits(cohort.lesions, truth)["truth_row"].unique()]["truth_id"]
        table = bags.bag_table
        none = table["truth_id"].notna() & ~table["truth_id"].isin(hit)
        labels.extend(model.posterior_[none.to_numpy()])
    without, with_them = labels_of_none[0.0], labels_of_none[0.6]
    assert len(without) >= 15
    assert mannwhitneyu(without, with_them, alternative="less").pvalue < 0.01
