import numpy as np
import pytest

from overread.domains._scale_space import build_pyramid
from overread.domains.chest._search import measure_scales

MM = 0.7
SIDE = 256
# The middle of a pixel of the coarsest level.
CENTRE_MM = (SIDE / 2 + 2) * MM


def gaussian(width_mm, across_mm=None):
    """Blob of height 1, or an endless ridge along x."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) * MM - CENTRE_MM
    radius = y**2 if across_mm else x**2 + y**2
    return np.exp(-radius / (2 * width_mm**2)).astype(np.float32)


@pytest.mark.parametrize("width_mm", [3.0, 5.0, 8.0])
def test_a_gaussian_blob_has_the_curvature_of_the_closed_form(width_mm):
    """Smoothed by sigma, a blob of width s has the curvature s^2 / (s^2 + sigma^2)^2 in every direction."""
    whole = np.ones((SIDE, SIDE), dtype=bool)
    for scale in measure_scales(build_pyramid(gaussian(width_mm), whole, MM)):
        sigma = scale.sigma_mm
        expected = sigma**2 * width_mm**2 / (width_mm**2 + sigma**2) ** 2
        assert scale.smaller.max() == pytest.approx(expected, rel=0.15)
        assert scale.larger.max() == pytest.approx(expected, rel=0.15)


def test_a_ridge_has_no_smaller_curvature():
    whole = np.ones((SIDE, SIDE), dtype=bool)
    for scale in measure_scales(build_pyramid(gaussian(5.0, across_mm=5.0), whole, MM)):
        assert scale.smaller.max() < 0.01 * scale.larger.max()
