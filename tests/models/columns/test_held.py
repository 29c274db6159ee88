"""Products with features in memory, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from overread.models.columns._columns import MemoryColumns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_numpys(dtype):
    random = np.random.default_rng(0)
    Xt = random.normal(size=(13, 50)).astype(dtype)
    columns, chosen = MemoryColumns(Xt), np.array([7, 0, 12, 3, 4])
    exact = Xt.astype(np.float64)[chosen]
    residual, factors, scores = random.normal(size=50), random.normal(size=5), random.normal(size=50)
    np.testing.assert_allclose(columns.dot(chosen, residual), exact @ residual, rtol=1e-12, atol=1e-12)
    moved = scores.copy()
    columns.add(chosen, factors, moved)
    np.testing.assert_allclose(moved, scores + factors @ exact, rtol=1e-12, atol=1e-12)
    rows, out = np.array([3, 3, 49]), np.empty((5, 3))
    columns.gather(chosen, rows, np.array([1.0, 2.0, -1.0]), out)
    np.testing.assert_allclose(out, exact[:, rows] * [1.0, 2.0, -1.0], rtol=1e-12)
    assert columns.n_read == 0


def test_groups_of_columns():
    Xt = np.random.default_rng(0).normal(size=(13, 50))
    columns, chosen = MemoryColumns(Xt), np.array([7, 0, 12, 3, 4])
    groups = list(columns.read_groups(chosen, 2))
    assert [len(block) for _, block in groups] == [2, 2, 1]
    for group, block in groups:
        np.testing.assert_array_equal(block, Xt[chosen[group]])
    held, rows = columns.hold_all(chosen)
    np.testing.assert_array_equal(held[rows], Xt[chosen])
