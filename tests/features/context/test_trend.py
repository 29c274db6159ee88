"""The trend of the surround: what is taken off, what is left."""

import numpy as np
import pytest

from overread.features import N_ANGLES
from overread.features.context._patches import NOISE_FLOOR, fit_trend, ring_around
from overread.features.context._rays import RAYS, RHO

X, Y = RAYS[:, :1] * RHO, RAYS[:, 1:] * RHO
EVERYWHERE = np.ones((1, N_ANGLES, RHO.size), bool)
RADIUS = np.ones((1, N_ANGLES))


def test_quadratic_surface_leaves_nothing():
    surface = 0.4 + 0.1 * X - 0.05 * Y + 0.02 * X**2 - 0.03 * X * Y + 0.01 * Y**2
    trend = fit_trend(surface[None].astype(np.float32), ring_around(RADIUS, EVERYWHERE))
    np.testing.assert_allclose(trend.detrended, 0.0, atol=1e-5)
    assert trend.noise[0] == pytest.approx(0.0, abs=1e-5)
    assert trend.noise_scale[0] == pytest.approx(NOISE_FLOOR, rel=1e-4)


def test_what_is_inside_stands_on_the_trend_of_the_ring():
    nodule = np.where(np.hypot(X, Y) < 1.0, 0.25, 0.0)
    trend = fit_trend((0.4 + 0.1 * X + nodule)[None].astype(np.float32), ring_around(RADIUS, EVERYWHERE))
    np.testing.assert_allclose(trend.detrended[0], nodule, atol=1e-4)


def test_noise_is_the_weighted_deviation_of_the_residual():
    grey = np.random.default_rng(0).normal(size=(1, N_ANGLES, RHO.size)).astype(np.float32)
    ring = ring_around(RADIUS, EVERYWHERE)
    basis = np.stack([np.ones_like(X), X, Y, X * X, X * Y, Y * Y], axis=-1).reshape(-1, 6)
    root = np.sqrt(ring[0].ravel().astype(float))
    left = np.linalg.lstsq(basis * root[:, None], grey[0].ravel() * root, rcond=None)[0]
    residual = (grey[0].ravel() - basis @ left) * root
    expected = np.sqrt((residual**2).sum() / ring.sum(dtype=float))
    assert fit_trend(grey, ring).noise[0] == pytest.approx(expected, rel=1e-4)


def test_ring_lies_outside_the_outline_and_in_the_lung_if_enough_is():
    ring = ring_around(RADIUS, EVERYWHERE)
    used = RHO[ring[0].any(axis=0)]
    assert (used.min(), used.max()) == pytest.approx((1.25, 2.45))
    np.testing.assert_allclose(ring[0, 0, RHO > 1.2], RHO[RHO > 1.2], rtol=1e-6)
    half, quarter = EVERYWHERE.copy(), EVERYWHERE.copy()
    half[:, N_ANGLES // 2 :] = False
    quarter[:, N_ANGLES // 4 :] = False
    assert not ring_around(RADIUS, half)[0, N_ANGLES // 2 :].any()
    np.testing.assert_array_equal(ring_around(RADIUS, quarter), ring)
