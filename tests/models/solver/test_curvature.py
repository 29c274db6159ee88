"""The approximate Hessian against the exact one of the loss, written out row by row."""

import numpy as np
import pytest
from tests.models.solver.problems import draw

from overread.columns._columns import MemoryColumns
from overread.models.solver._curvature import Curvature, RowSample, sample_by_size


def exact_hessian(Xt, loss, z):
    """X' (diag(a) + sum_mu rho u u') X, intercept last, with no function of the solver."""
    X = np.column_stack([Xt.T.astype(float), np.ones(loss.n_rows)])
    inner = np.zeros((loss.n_rows, loss.n_rows))
    n = loss.n_plain
    inner[range(n), range(n)] = loss.plain_curvature(z)
    if len(loss.weight):
        bent = loss.bag_curvature(z)
        for m, rho in enumerate(bent.strength):
            rows = np.arange(loss.offsets[m], loss.offsets[m + 1])
            u = bent.direction[rows]
            inner[np.ix_(n + rows, n + rows)] = np.diag(bent.diagonal[rows]) + rho * np.outer(u, u)
    return X.T @ inner @ X


def make(Xt, loss):
    return Curvature(MemoryColumns(Xt), loss, np.random.default_rng(0))


@pytest.mark.parametrize("bag_size", [1, 4])
def test_without_sampling_it_is_exact(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    z = np.random.default_rng(1).normal(size=loss.n_rows) + 2.0
    exact = exact_hessian(Xt, loss, z)
    assert np.linalg.eigvalsh(exact).min() > 0
    curvature, columns = make(Xt, loss), np.array([2, 0, 7])
    curvature.refresh(z, columns)
    index = np.append(columns, -1)
    np.testing.assert_allclose(curvature.matrix(columns), exact[np.ix_(index, index)], rtol=1e-10, atol=1e-14)
    part = np.array([7, 2])
    index = np.append(part, -1)
    np.testing.assert_allclose(curvature.matrix(part), exact[np.ix_(index, index)], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("bag_size", [1, 4])
def test_extending_is_building_with_more_columns(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    z = np.random.default_rng(1).normal(size=loss.n_rows) + 2.0
    whole, grown = make(Xt, loss), make(Xt, loss)
    columns = np.arange(8)
    whole.refresh(z, columns)
    grown.refresh(z, columns[:3])
    grown.extend(columns[2:6])
    grown.extend(columns)
    np.testing.assert_allclose(grown.matrix(columns), whole.matrix(columns), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("ridge", [None, 0.3])
def test_a_corrected_matrix_maps_the_step_to_the_change(ridge):
    """The secant equation holds for the loss alone, whatever the ridge beside it, also after an extension."""
    Xt, loss = draw()
    random = np.random.default_rng(2)
    curvature, columns = make(Xt, loss), np.arange(5)
    if ridge is not None:
        curvature.set_ridge(np.full(len(Xt), ridge))
    curvature.refresh(np.zeros(loss.n_rows), columns)
    step = random.normal(size=6)
    change = curvature.matrix(columns) @ step * 1.5
    curvature.correct(columns, step, change)
    added = 0.0 if ridge is None else ridge * np.append(step[:-1], 0.0)
    np.testing.assert_allclose(curvature.matrix(columns) @ step, change + added, rtol=1e-10)
    curvature.extend(np.arange(6))
    np.testing.assert_allclose(curvature.matrix(columns) @ step, change + added, rtol=1e-10)


def test_a_pair_that_bends_the_wrong_way_is_not_learned():
    Xt, loss = draw()
    curvature, columns = make(Xt, loss), np.arange(5)
    curvature.refresh(np.zeros(loss.n_rows), columns)
    before = curvature.matrix(columns)
    curvature.correct(columns, np.ones(6), -np.ones(6))
    assert np.array_equal(curvature.matrix(columns), before)


def test_where_the_loss_bends_the_wrong_way_the_ridge_decides():
    """Exact with a ridge that makes the sum positive definite, a safer stand-in without, also when the ridge falls."""
    Xt, loss = draw(n_rows=400, bag_size=4)
    z = np.random.default_rng(3).normal(size=loss.n_rows) - 5.0
    exact, columns = exact_hessian(Xt, loss, z), np.arange(len(Xt))
    lowest = np.linalg.eigvalsh(exact).min()
    assert lowest < -1e-4
    free = make(Xt, loss)
    free.refresh(z, columns)
    assert np.linalg.eigvalsh(free.matrix(columns)).min() > -1e-8
    assert np.abs(free.matrix(columns) - exact).max() > 1e-4
    held = make(Xt, loss)
    held.set_ridge(np.full(len(Xt), -2 * lowest))
    held.refresh(z, columns)
    ridge = np.append(np.full(len(Xt), -2 * lowest), 0.0)
    np.testing.assert_allclose(held.matrix(columns), exact + np.diag(ridge), rtol=1e-9, atol=1e-13)
    held.set_ridge(np.zeros(len(Xt)))
    np.testing.assert_allclose(held.matrix(columns), free.matrix(columns), rtol=1e-9, atol=1e-13)


def test_only_a_stand_in_has_something_to_learn_from_slow_steps():
    Xt, loss = draw(n_rows=300, n_columns=5, bag_size=3)
    curvature = make(Xt, loss)
    curvature.refresh(np.zeros(loss.n_rows), np.arange(5))
    curvature._safe = 0.0
    assert not curvature.can_learn
    curvature._safe = 0.5
    for _ in range(5):
        assert curvature.can_learn
        curvature.correct(np.arange(5), np.full(6, 0.1), np.full(6, 0.1))
    assert not curvature.can_learn


def test_the_sample_has_the_size_asked_for_and_keeps_the_heavy():
    h = np.random.default_rng(0).lognormal(0, 2, 20_000)
    rows, weights = sample_by_size(h, 3000, np.random.default_rng(1))
    assert abs(len(rows) - 3000) <= 3
    heaviest = np.argsort(h)[-500:]
    assert set(heaviest) <= set(rows)
    kept = dict(zip(rows, weights, strict=True))
    assert all(kept[i] == h[i] for i in heaviest)


def test_the_sample_is_unbiased():
    random = np.random.default_rng(2)
    h, value = random.lognormal(0, 1.5, 2000), random.standard_normal(2000)
    exact = (h * value).sum()
    draws = []
    for seed in range(400):
        rows, weights = sample_by_size(h, 300, np.random.default_rng(seed))
        draws.append((weights * value[rows]).sum())
    standard_error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - exact) < 4 * standard_error


@pytest.mark.parametrize("h", [np.zeros(50), np.ones(50), np.r_[1.0, np.zeros(49)]])
def test_degenerate_sizes_do_no_harm(h):
    rows, weights = sample_by_size(h, 10, np.random.default_rng(0))
    assert np.isfinite(weights).all()
    assert len(rows) == len(weights) <= 50


def test_between_exact_and_stand_in_the_gram_matrix_is_linear():
    Xt, loss = draw(n_rows=300, n_columns=6, bag_size=3)
    z = 0.3 * Xt[0] - 1.0
    sample = RowSample.draw(loss, z.astype(np.float64), 1000, np.random.default_rng(0))
    block = sample.block(MemoryColumns(Xt), np.arange(6))
    exact, half = ((block * sample.factors(safe)) @ block.T for safe in (0.0, 0.5))
    np.testing.assert_allclose(exact + 0.5 * sample.stand_in_change(block), half, rtol=1e-10, atol=1e-14)
