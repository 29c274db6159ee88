"""Votes and features that the tests, the benchmarks and the peers all make from the seed."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CrowdProblem:
    """Features, the bag of each row (None: every row is one), votes, and what was planted."""

    X: np.ndarray
    votes: np.ndarray
    truth: np.ndarray
    sensitivity: np.ndarray
    specificity: np.ndarray
    bag_of_row: np.ndarray | None = None


def make_crowd(n_bags=300, n_readers=6, votes_per_bag=4, seed=0) -> CrowdProblem:
    random = np.random.default_rng(seed)
    truth = random.random(n_bags) < 0.35
    sensitivity, specificity, votes = _votes(truth, n_readers, votes_per_bag, random)
    X = random.normal(size=(n_bags, 3))
    X[:, 0] += 1.2 * truth
    return CrowdProblem(X, votes, truth, sensitivity, specificity)


def make_bag_crowd(n_bags=300, n_readers=6, votes_per_bag=4, seed=0) -> CrowdProblem:
    """Bags of one to four rows; the label is drawn from a noisy-or logistic model of them."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 5, n_bags)
    bag_of_row = np.repeat(np.arange(n_bags), sizes)
    X = random.normal(size=(len(bag_of_row), 3))
    z = 2.0 * X[:, 0] - 1.0 * X[:, 1] - 2.2
    s = np.bincount(bag_of_row, np.logaddexp(0, z))
    truth = random.random(n_bags) < -np.expm1(-s)
    sensitivity, specificity, votes = _votes(truth, n_readers, votes_per_bag, random)
    return CrowdProblem(X, votes, truth, sensitivity, specificity, bag_of_row)


def _votes(truth, n_readers, votes_per_bag, random):
    sensitivity = random.uniform(0.6, 0.9, n_readers)
    specificity = random.uniform(0.7, 0.95, n_readers)
    shape = (len(truth), n_readers)
    votes = np.where(truth[:, None], random.random(shape) < sensitivity, random.random(shape) > specificity)
    votes = votes.astype(float)
    for row in votes:
        row[random.permutation(n_readers)[votes_per_bag:]] = np.nan
    return sensitivity, specificity, votes
