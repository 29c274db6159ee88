from __future__ import annotations

import numpy as np
import pytest
from problems import draw

from overread.models.columns._columns import MemoryColumns
from overread.models.solver._curvature import Curvature, RowSample, sample_by_size, worth_sampling


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


def test_small_problems_are_not_sampled():
    assert not worth_sampling(10_000, 4000)
    assert worth_sampling(60_000, 4000)
    assert not worth_sampling(60_000, 40_000)


@pytest.mark.parametrize("bag_size", [1, 4])
def test_the_unsampled_factor_gives_the_exact_hessian(bag_size):
    Xt, loss = draw(bag_size=bag_size)
    w = np.linspace(-0.5, 0.5, len(Xt))
    z = w @ Xt - 1.0
    sample = RowSample.draw(loss, z, 4000, np.random.default_rng(0))
    block = sample.block(MemoryColumns(Xt), np.arange(len(Xt)))
    factors = sample.factors(0.0)
    H = (block if factors is None else block * factors) @ block.T
    numeric = np.empty_like(H)
    step = 1e-5
    for j in range(len(H)):
        direction = Xt[j] if j < len(Xt) else np.ones(loss.n_rows)
        sides = []
        for sign in (1, -1):
            residual = np.empty(loss.n_rows)
            loss.value(z + sign * step * direction, residual)
            sides.append(np.append(Xt @ residual, residual.sum()))
        numeric[j] = (sides[0] - sides[1]) / (2 * step)
    np.testing.assert_allclose(H, numeric, atol=1e-9)


def test_extending_the_curvature_gives_what_building_it_gives():
    Xt, loss = draw(bag_size=4)
    z = np.full(loss.n_rows, -1.0)
    grown = Curvature(MemoryColumns(Xt), loss, np.random.default_rng(0))
    grown.refresh(z, np.array([2, 5]))
    grown.extend(np.array([5, 9, 0]))
    built = Curvature(MemoryColumns(Xt), loss, np.random.default_rng(0))
    built.refresh(z, np.array([2, 5, 9, 0]))
    columns = np.array([0, 9, 5])
    np.testing.assert_allclose(grown.matrix(columns), built.matrix(columns), rtol=1e-12)


def test_a_secant_pair_is_obeyed_and_survives_new_columns():
    Xt, loss = draw()
    curvature = Curvature(MemoryColumns(Xt), loss, np.random.default_rng(0))
    curvature.refresh(np.zeros(loss.n_rows), np.array([1, 2, 3]))
    step, change = np.array([0.1, -0.2, 0.3, 0.05]), np.array([0.4, -0.1, 0.2, 0.3])
    curvature.correct(np.array([1, 2, 3]), step, change)
    np.testing.assert_allclose(curvature.matrix(np.array([1, 2, 3])) @ step, change, rtol=1e-10)
    curvature.extend(np.array([7]))
    np.testing.assert_allclose(curvature.matrix(np.array([1, 2, 3])) @ step, change, rtol=1e-10)


def test_between_exact_and_stand_in_the_gram_matrix_is_linear():
    Xt, loss = draw(n_rows=300, n_columns=6, bag_size=3)
    z = 0.3 * Xt[0] - 1.0
    sample = RowSample.draw(loss, z.astype(np.float64), 1000, np.random.default_rng(0))
    block = sample.block(MemoryColumns(Xt), np.arange(6))
    exact, half = ((block * sample.factors(safe)) @ block.T for safe in (0.0, 0.5))
    np.testing.assert_allclose(exact + 0.5 * sample.stand_in_change(block), half, rtol=1e-10, atol=1e-14)
