"""Small problems that every file of these tests needs."""

from dataclasses import dataclass

import numpy as np
import pytest

from overread.bags import Bags


@dataclass(frozen=True)
class MILProblem:
    """Instances, the bag of each, and a soft label of each bag."""

    X: np.ndarray
    ids: np.ndarray
    y: np.ndarray

    @property
    def bags(self) -> Bags:
        return Bags.from_ids(self.X, self.ids)


@pytest.fixture(scope="session")
def make_mil():
    """Random bags of 1 to 4 instances; the label follows the best instance in feature 0 minus feature 1."""

    def make(n_bags=60, n_features=6, seed=0, hard=False, dtype=np.float64) -> MILProblem:
        random = np.random.default_rng(seed)
        sizes = random.integers(1, 5, n_bags)
        X = random.normal(size=(sizes.sum(), n_features)).astype(dtype)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        best = np.maximum.reduceat(X[:, 0] - X[:, 1 % n_features], starts) + random.normal(size=n_bags)
        y = (best > 1.0).astype(float)
        if not hard:
            y *= random.integers(1, 5, n_bags) / 4
        return MILProblem(X, np.repeat(np.arange(n_bags), sizes), y)

    return make


@pytest.fixture(scope="session")
def mil(make_mil):
    return make_mil()
