"""The bootstrap draws whole groups, and its spread is that of independent samples."""

from __future__ import annotations

import numpy as np

from overread.bags import Bags
from overread.models import RVMMIL
from overread.models._mixture import bootstrap_weights


def make(seed, n_bags=120, per_group=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_bags, 2))
    y = (X[:, 0] + random.logistic(size=n_bags) > 0).astype(float)
    groups = np.repeat(np.arange(n_bags // per_group), per_group)
    return Bags.from_ids(X, np.arange(n_bags), groups=groups), y


def network():
    return RVMMIL(update="fixed", alpha_init=1e-3, prune_bound=1e6, standardize=False)


def test_a_draw_is_a_fit_with_groups_counted():
    bags, y = make(0)
    weights = bootstrap_weights(network(), bags, y, 2, seed=5)
    assert weights.shape == (2, 2)
    drawn = np.random.default_rng(5).multinomial(40, np.full(40, 1 / 40))
    expected = network().fit(bags, y, sample_weight=np.repeat(drawn, 3).astype(float))
    np.testing.assert_allclose(weights[0], expected.coef_[0], rtol=1e-6)
    assert np.array_equal(bootstrap_weights(network(), bags, y, 2, seed=5), weights)


def test_its_spread_is_that_of_new_samples():
    bags, y = make(1)
    spread = bootstrap_weights(network(), bags, y, 60, seed=0).std(axis=0)
    fresh = np.array([network().fit(*make(seed)).coef_[0] for seed in range(100, 160)]).std(axis=0)
    assert (spread / fresh > 0.6).all()
    assert (spread / fresh < 1.7).all()
