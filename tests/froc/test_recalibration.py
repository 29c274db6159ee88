"""Recalibration against searches that know nothing of Newton's method, and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit

from overread.froc._calibration import clip_logit, offset_in_the_large, recalibrate
from overread.froc._kernels import sum_cross_entropy


def draw(n=300, seed=2):
    """Logits, soft labels and weights, some of them 0."""
    random = np.random.default_rng(seed)
    z = random.normal(-1, 2, n)
    y = np.where(random.random(n) < expit(0.5 + 0.7 * z), random.choice([0.25, 0.5, 1.0], n), 0.0)
    return z, y, random.integers(0, 3, n).astype(float)


def soft_loss(found, z, y, weight):
    margin = found[0] + found[1] * z
    return weight @ (np.logaddexp(0, margin) - y * margin)


@pytest.mark.parametrize("start", [(0.0, 0.0), (3.0, -2.0), (np.nan, 1.0)])
def test_the_recalibration_is_the_minimum_that_a_plain_search_finds(start):
    z, y, weight = draw()
    expected = minimize(
        soft_loss, np.zeros(2), (z, y, weight), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    np.testing.assert_allclose(recalibrate(z, y, weight, np.array(start)), expected.x, atol=1e-6)


def test_gradient_and_curvature_are_those_of_the_loss():
    z, y, weight = draw(50)
    at = np.array([0.3, -0.6])
    sums = sum_cross_entropy(z, y, weight, *at)
    assert sums[0] == pytest.approx(soft_loss(at, z, y, weight))
    step = 1e-5
    for k, direction in enumerate(np.eye(2)):
        ends = [sum_cross_entropy(z, y, weight, *(at + sign * step * direction)) for sign in (1, -1)]
        change = (ends[0] - ends[1]) / (2 * step)
        assert change[0] == pytest.approx(sums[1 + k], rel=1e-6)
        np.testing.assert_allclose(change[1:3], sums[[3 + k, 4 + k]], rtol=1e-6)


def test_bags_without_weight_count_for_nothing():
    z, y, weight = draw()
    kept = weight > 0
    start = np.zeros(2)
    alone = recalibrate(z[kept], y[kept], weight[kept], start)
    np.testing.assert_allclose(recalibrate(z, y, weight, start), alone, rtol=1e-9)


@pytest.mark.parametrize("start", [0.0, 5.0, -70.0, np.nan])
@pytest.mark.parametrize("shift", [0.0, -3.0, 25.0, 60.0])
def test_the_offset_is_the_root_that_a_plain_search_finds(shift, start):
    """Also where Newton's first steps go astray: probabilities near 0 or 1, far from their labels."""
    random = np.random.default_rng(2)
    z = random.normal(-3, 3, 400)
    y, weight = (random.random(400) < expit(z)).astype(float), random.integers(0, 3, 400).astype(float)
    clipped = clip_logit(expit(np.clip(z + shift, -36, 36)))
    expected = brentq(lambda a: weight @ (expit(clipped + a) - y), -80, 80, xtol=1e-13)
    assert offset_in_the_large(clipped, y, weight, start) == pytest.approx(expected, abs=1e-9)
