"""Votes and features that the tests and the peers both make from the seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CrowdProblem:
    X: np.ndarray
    votes: np.ndarray
    truth: np.ndarray
    sensitivity: np.ndarray
    specificity: np.ndarray


def make_crowd(n_bags=300, n_readers=6, votes_per_bag=4, seed=0) -> CrowdProblem:
    random = np.random.default_rng(seed)
    truth = random.random(n_bags) < 0.35
    sensitivity = random.uniform(0.6, 0.9, n_readers)
    specificity = random.uniform(0.7, 0.95, n_readers)
    shape = (n_bags, n_readers)
    votes = np.where(truth[:, None], random.random(shape) < sensitivity, random.random(shape) > specificity)
    votes = votes.astype(float)
    for row in votes:
        row[random.permutation(n_readers)[votes_per_bag:]] = np.nan
    X = random.normal(size=(n_bags, 3))
    X[:, 0] += 1.2 * truth
    return CrowdProblem(X, votes, truth, sensitivity, specificity)
