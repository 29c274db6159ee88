"""The four poolings by the formulas of their table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from overread.errors import InvalidInputError
from overread.models.loss._bag_loss import POOLINGS, find_pooling, pool

FORMULAS = {
    "noisy_or": lambda z: 1 - np.prod(1 / (1 + np.exp(z))),
    "noisy_or_mean": lambda z: 1 - np.prod(1 / (1 + np.exp(z))) ** (1 / len(z)),
    "log_sum_exp": lambda z: 1 / (1 + 1 / np.mean(np.exp(z))),
    "mean": lambda z: 1 / (1 + np.exp(-np.mean(z))),
}


@pytest.mark.parametrize("name", list(POOLINGS))
def test_probabilities_of_bags(name):
    z, offsets = np.random.default_rng(0).normal(size=12), np.array([0, 1, 4, 12])
    log_p, log_q = pool(z, offsets, name)
    expected = [FORMULAS[name](z[a:b]) for a, b in pairwise(offsets)]
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_p) + np.exp(log_q), 1, rtol=1e-14)


def test_every_pooling_has_a_formula_and_others_are_unknown():
    assert POOLINGS.keys() == FORMULAS.keys()
    with pytest.raises(InvalidInputError, match="pooling='max' is unknown; choose one of noisy_or"):
        find_pooling("max")
