"""Vessels leave the disc, thin out by Murray's law, and are as wide as they are said to be."""

from __future__ import annotations

import numpy as np
import pytest

from overread.simulate.picture._phantom import ROOT_RADIUS, Tip, _branch, _paint, draw_vessels

SHAPE, CENTRE, RADIUS = (300, 300), (150.0, 150.0), 145.0


def test_branches_keep_the_sum_of_cubes():
    random = np.random.default_rng(0)
    for _ in range(50):
        tip = Tip(0.1, 0.2, 0.3, random.uniform(0.005, 0.02))
        thick, thin = _branch(tip, random)
        assert thick.radius**3 + thin.radius**3 == pytest.approx(tip.radius**3)
        assert thin.radius < thick.radius


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 2])
def test_a_painted_piece_has_its_width(angle):
    """Area of a thick line over its length, on the grid that paint draws on (two subpixels a pixel)."""
    length, radius = 0.8, 0.03
    start = Tip(-np.cos(angle) * length / 2, -np.sin(angle) * length / 2, angle, radius)
    end = Tip(-start.x, -start.y, angle, radius)
    fine = np.zeros((600, 600), dtype=np.float32)
    _paint(fine, start, end, CENTRE, RADIUS)
    area = np.count_nonzero(fine) / 4
    # The ends are round caps.
    expected = length * RADIUS * 2 * radius * RADIUS + np.pi * (radius * RADIUS) ** 2
    assert area == pytest.approx(expected, rel=0.08)
    assert fine.max() == pytest.approx(radius / ROOT_RADIUS)


def test_the_tree_starts_at_the_disc_and_fills_the_field():
    blood = draw_vessels(SHAPE, CENTRE, RADIUS, (80.0, 150.0), np.random.default_rng(1))
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]]
    disc, far = np.hypot(x - 80, y - 150), np.hypot(x - 150, y - 150)
    assert blood[disc < 8].max() > 0.7
    assert blood[(far < RADIUS) & (disc > 60)].max() < blood[disc < 8].max()
    assert 0.02 < (blood[far < RADIUS] > 0).mean() < 0.35
    assert not blood[far > 1.2 * RADIUS].any()


def test_the_same_randomness_gives_the_same_tree():
    one, other = (
        draw_vessels(SHAPE, CENTRE, RADIUS, (220.0, 140.0), np.random.default_rng(2)) for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)
