from __future__ import annotations

import numpy as np
import pytest

from overread.models.solver._kernels import coordinate_descent
from overread.models.solver._quadratic import minimize_model


def make_model(m=12, correlation=0.0, seed=3):
    random = np.random.default_rng(seed)
    root = (1 - correlation) * random.standard_normal((m, 2 * m)) + correlation * random.standard_normal(
        2 * m
    )
    kinks = np.append(np.full(m - 1, 0.4), 0.0)
    return root @ root.T, random.standard_normal(m), random.standard_normal(m), kinks


def assert_minimal(H, g, w, kinks, step, tolerance):
    slope, moved = g + H @ step, w + step
    active = moved != 0
    assert np.abs((slope + kinks * np.sign(moved))[active]).max() <= tolerance
    assert (np.abs(slope[~active]) <= kinks[~active] + tolerance).all()


def test_coordinate_descent_alone():
    H, g, w, kinks = make_model()
    step, slope = np.zeros(12), g.copy()
    assert coordinate_descent(H, w, kinks, step, slope, 1e-12, 10_000) > 0
    np.testing.assert_allclose(slope, g + H @ step, atol=1e-10)
    assert_minimal(H, g, w, kinks, step, 1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.9, 0.999])
@pytest.mark.parametrize("m", [1, 2, 12, 80])
def test_the_minimum_in_few_sweeps_however_correlated(correlation, m):
    for seed in range(5):
        H, g, w, kinks = make_model(m, correlation, seed)
        step, sweeps = minimize_model(H, g, w, kinks, 1e-6)
        assert_minimal(H, g, w, kinks, step, 1e-5)
        assert sweeps <= 500


def test_coordinate_descent_alone_takes_for_ever_there():
    H, g, w, kinks = make_model(80, 0.999)
    assert coordinate_descent(H, w, kinks, np.zeros(80), g.copy(), 1e-9, 1000) < 0


def test_dependent_columns():
    """Twice the same columns: there are many minima, and one of them is found."""
    H, g, w, _ = make_model()
    twice = (np.tile(H, (2, 2)), np.tile(g, 2), np.tile(w, 2), np.full(24, 0.4))
    step, _ = minimize_model(*twice, 1e-9)
    assert_minimal(*twice, step, 1e-7)
