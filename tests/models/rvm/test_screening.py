"""Score statistics against the chi-square of a two-by-two table; which features pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from overread.models.columns._columns import MemoryColumns
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.rvm._evidence import score_statistics, screen_features


@pytest.fixture
def binary():
    random = np.random.default_rng(1)
    y = (random.random(300) < 0.3).astype(float)
    Xt = np.array([(random.random(300) < 0.2 + share * y) for share in (0.0, 0.5, 0.1, 0.3)], dtype=float)
    loss = BagLoss.build(np.arange(301), y, np.ones(300), POOLINGS["noisy_or"])
    return Xt, y, loss, float(np.log(y.mean() / (1 - y.mean())))


def test_on_a_binary_feature_it_is_pearsons_chi_square(binary):
    Xt, y, loss, null = binary
    tables = [[[np.sum((x == i) & (y == j)) for j in (0, 1)] for i in (0, 1)] for x in Xt]
    expected = [chi2_contingency(table, correction=False).statistic for table in tables]
    np.testing.assert_allclose(score_statistics(MemoryColumns(Xt), loss, null), expected, rtol=1e-10)


def test_a_feature_that_does_not_vary_scores_nothing(binary):
    Xt, _, loss, null = binary
    Xt[2] = 0.0
    assert score_statistics(MemoryColumns(Xt), loss, null)[2] == 0


def test_the_best_of_the_usable_enter_in_order(binary):
    Xt, _, loss, null = binary
    usable = np.array([0, 2, 3])
    assert screen_features(MemoryColumns(Xt), loss, null, usable, None) is usable
    assert screen_features(MemoryColumns(Xt), loss, null, usable, 3) is usable
    assert screen_features(MemoryColumns(Xt), loss, null, usable, 1).tolist() == [3]
    assert screen_features(MemoryColumns(Xt), loss, null, np.arange(4), 2).tolist() == [1, 3]
