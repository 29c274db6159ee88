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
    columns.take_rows(chosen, rows, np.array([1.0, 2.0, -1.0]), out)
    np.testing.assert_allclose(out, exact[:, rows] * [1.0, 2.0, -1.0], rtol=1e-12)
    assert columns.n_read == 0


def test_groups_of_columns():
    Xt = np.random.default_rng(0).normal(size=(13, 50))
    columns, chosen = MemoryColumns(Xt), np.array([7, 0, 12, 3, 4])
    groups = list(columns.read_groups(chosen, 2))
    assert [len(block) for _, block in groups] == [2, 2, 1]
    for group, block in groups:
        np.testing.assert_array_equal(block, Xt[chosen[group]])
    held, rows = columns.load(chosen)
    np.testing.assert_array_equal(held[rows], Xt[chosen])
