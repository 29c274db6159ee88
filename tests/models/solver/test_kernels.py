"""The solver's compiled loops against plain numpy."""

import numpy as np
import pytest
from tests.models.solver.problems import draw

from overread.columns._kernels import add_columns, dot_columns, take_rows
from overread.models.solver._kernels import _row_blocks, fused_pass


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [0, 1, 3, 4, 5, 9])
def test_products_with_some_columns_and_rows(dtype, n_columns):
    random = np.random.default_rng(n_columns)
    Xt = random.normal(size=(12, 50)).astype(dtype)
    columns = random.permutation(12)[:n_columns]
    r, factors = random.normal(size=30), random.normal(size=n_columns)
    found = np.ones(n_columns)
    dot_columns(Xt, columns, 10, 40, r, found)
    np.testing.assert_allclose(found, 1 + Xt[columns, 10:40].astype(float) @ r, rtol=1e-12)
    sums = r.copy()
    add_columns(Xt, columns, factors, 10, 40, sums)
    np.testing.assert_allclose(sums, r + factors @ Xt[columns, 10:40].astype(float), rtol=1e-12, atol=1e-14)


def test_gather():
    Xt = np.arange(12.0).reshape(3, 4)
    out = np.empty((2, 3))
    take_rows(Xt, np.array([2, 0]), np.array([1, 1, 3]), np.array([1.0, 2.0, -1.0]), out)
    assert out.tolist() == [[9, 18, -11], [1, 2, -3]]


def test_blocks_cover_all_rows_and_never_cut_a_bag():
    offsets = np.concatenate([[0], np.cumsum(np.random.default_rng(0).integers(2, 700, 40))])
    bounds = _row_blocks(1000, offsets, 200)
    assert bounds[0] == 0
    assert bounds[-1] == 1000 + offsets[-1]
    assert (np.diff(bounds) > 0).all()
    assert set(bounds[bounds > 1000]) <= set(1000 + offsets)


@pytest.mark.parametrize("bag_size", [1, 4])
def test_one_pass_gives_what_three_would(bag_size):
    Xt, loss = draw(n_rows=1200, bag_size=bag_size)
    random = np.random.default_rng(5)
    working, moved = np.array([1, 3, 4, 8, 9]), np.array([3, 9])
    steps, z = random.normal(size=2), random.normal(size=1200)
    after = z + steps @ Xt[moved] + 0.25
    residual, gradient = np.empty(1200), np.empty(5)
    bags = loss.plain_weight, loss.plain_label, *loss.coupled
    value = fused_pass(Xt, working, moved, steps, 0.25, *bags, z, residual, gradient)
    expected = np.empty(1200)
    assert value == pytest.approx(loss.value(after, expected), rel=1e-12)
    np.testing.assert_allclose(z, after, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(residual, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(gradient, Xt[working] @ expected, rtol=1e-9, atol=1e-13)
