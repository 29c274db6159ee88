"""Products with features in memory, against numpy; and the solver's step where not all columns are held."""

import numpy as np
import pytest
from tests.models.solver.problems import draw

from overread.columns._columns import MemoryColumns
from overread.models._penalties import L1
from overread.models.solver._newton import NewtonSolver


class NeverHeld(MemoryColumns):
    """Columns that say that they do not fit."""

    def held(self, columns):
        return None


@pytest.mark.parametrize("bag_size", [1, 4])
def test_a_step_by_parts_is_the_fused_pass(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    norms = np.linalg.norm(Xt, axis=1)
    found = []
    for kind in (MemoryColumns, NeverHeld):
        solver = NewtonSolver(kind(Xt), loss, L1(), fit_intercept=True, norms=norms, seed=0)
        solver.start(np.zeros(len(Xt)), -1.0)
        solution = solver.solve(0.3 * solver.alpha_max, tol=1e-10, max_iter=100)
        assert solution.converged
        assert np.count_nonzero(solution.w)
        found.append((solution.objective, solution.w, solution.b, solver.point.gradient))
    for fused, by_parts in zip(*found, strict=True):
        np.testing.assert_allclose(by_parts, fused, rtol=1e-8, atol=1e-10)


def test_groups_of_columns():
    Xt = np.random.default_rng(0).normal(size=(13, 50))
    columns, chosen = MemoryColumns(Xt), np.array([7, 0, 12, 3, 4])
    groups = list(columns.read_groups(chosen, 2))
    assert [len(block) for _, block in groups] == [2, 2, 1]
    for group, block in groups:
        np.testing.assert_array_equal(block, Xt[chosen[group]])
    held, rows = columns.load(chosen)
    np.testing.assert_array_equal(held[rows], Xt[chosen])
