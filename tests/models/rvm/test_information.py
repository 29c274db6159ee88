"""Information on single features against the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

from overread.models.columns._columns import MemoryColumns
from overread.models.loss._bag_loss import POOLINGS, BagLoss
from overread.models.rvm import _posterior as information
from overread.models.rvm._posterior import information_diagonal, information_matrix


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    offsets = np.arange(0, 61, 3)
    label = (random.random(20) < 0.4).astype(float)
    loss = BagLoss.build(offsets, label, np.ones(20), POOLINGS["noisy_or"])
    return random.normal(size=(7, 60)), loss, random.normal(size=60) - 1


@pytest.mark.parametrize("cells", [60, 2**20])
def test_beside_a_fitted_intercept(problem, monkeypatch, cells):
    """H_jj - H_jb^2 / H_bb of the safe matrix's diagonal part, one feature at a time or all at once."""
    Xt, loss, z = problem
    monkeypatch.setattr(information, "CELLS_PER_BLOCK", cells)
    rows = np.concatenate([loss.plain_curvature(z), loss.bag_curvature(z, safe=1.0).diagonal])
    expected = [(rows * (x - rows @ x / rows.sum()) ** 2).sum() for x in Xt]
    np.testing.assert_allclose(information_diagonal(MemoryColumns(Xt), loss, z), expected, rtol=1e-12)


def test_without_coupled_bags_it_is_the_schur_complement_of_the_matrix(problem):
    Xt, _, z = problem
    loss = BagLoss.build(np.arange(61), np.zeros(60), np.ones(60), POOLINGS["noisy_or"])
    H = information_matrix(Xt, np.arange(7), loss, z)
    expected = np.diag(H)[:-1] - H[:-1, -1] ** 2 / H[-1, -1]
    np.testing.assert_allclose(information_diagonal(MemoryColumns(Xt), loss, z), expected, rtol=1e-12)


def test_a_constant_feature_tells_nothing_beside_an_intercept(problem):
    Xt, loss, z = problem
    assert information_diagonal(MemoryColumns(np.ones_like(Xt)), loss, z).max() <= 1e-12
