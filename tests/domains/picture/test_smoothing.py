"""Smoothing against SciPy's Gaussian, and inside a region against the plain quotient."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from overread.domains.picture._image import smooth, smooth_inside


@pytest.fixture(scope="module")
def plane():
    return np.random.default_rng(0).random((180, 220)).astype(np.float32)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 6.0, 15.0])
def test_as_scipy(plane, sigma):
    """Of white noise, the worst case, an eighth of a deviation of what is left is off where the grid is coarse."""
    wanted = gaussian_filter(plane.astype(np.float64), sigma, mode="reflect", truncate=6)
    found = smooth(plane, sigma)
    assert np.abs(found - wanted).max() < (0.125 if sigma > 4 else 0.02) * wanted.std() + 1e-5


def test_inside_a_region_its_values_alone_count(plane):
    region = np.zeros(plane.shape, dtype=bool)
    region[40:120, 50:150] = True
    spoiled = np.where(region, plane, 1e6).astype(np.float32)
    weight = gaussian_filter(region.astype(float), 3, mode="reflect", truncate=6)
    total = gaussian_filter(np.where(region, plane, 0).astype(float), 3, mode="reflect", truncate=6)
    assert np.abs(smooth_inside(spoiled, region, 3.0)[region] - (total[region] / weight[region])).max() < 1e-3
