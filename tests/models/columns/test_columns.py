"""Moving by parts, which every kind of columns can do, against the fused pass."""

from __future__ import annotations

import numpy as np
import pytest
from tests.models.solver.problems import draw

from overread.models.columns._columns import Columns, MemoryColumns


@pytest.mark.parametrize("bag_size", [1, 4])
def test_moving_by_parts_is_the_fused_pass(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    columns, random = MemoryColumns(Xt), np.random.default_rng(0)
    working, moved, steps = np.arange(9), np.array([1, 5]), np.array([0.3, -0.2])
    found = []
    for move in (columns.move, lambda *given: Columns.move(columns, *given)):
        scores, residual, gradient = np.full(loss.n_rows, -1.0), np.empty(loss.n_rows), random.random(9)
        value = move(loss, working, moved, steps, 0.1, scores, residual, gradient)
        found.append((value, scores, residual, gradient))
    for fused, by_parts in zip(*found, strict=True):
        np.testing.assert_allclose(by_parts, fused, rtol=1e-12, atol=1e-14)
