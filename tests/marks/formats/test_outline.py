"""Outlines and ellipses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import contains_xy
from shapely.geometry import Polygon

from overread.errors import FormatError
from overread.marks import Ellipse
from overread.marks._ellipse import _polygon_moments, ellipse_of_outline


@given(
    st.floats(0, 3000),
    st.floats(0, 3000),
    st.floats(1, 200),
    st.floats(0.05, 0.95),
    st.floats(0, 179),
    st.integers(5, 64),
)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_an_ellipses_own_outline_gives_it_back(x, y, a, ratio, angle, points):
    back = ellipse_of_outline(Ellipse(x, y, a, a * ratio, angle).outline(points))
    assert back.centre == pytest.approx((x, y), abs=1e-9)
    assert back.semi_axes == pytest.approx((a, a * ratio), rel=1e-7)
    assert np.sin(np.deg2rad(back.angle_deg - angle)) == pytest.approx(0, abs=1e-6)


def test_moments_of_a_polygon_against_a_grid():
    points = np.array([[0, 0], [8, 1], [9, 5], [4, 9], [1, 6]], float)
    centre, covariance = _polygon_moments(points)
    polygon = Polygon(points)
    assert centre == pytest.approx(np.array(polygon.centroid.coords[0]))
    grid = np.stack(np.meshgrid(*[(np.arange(0, 9, 0.01) + 0.005)] * 2), -1).reshape(-1, 2)
    inside = grid[contains_xy(polygon, grid[:, 0], grid[:, 1])]
    assert covariance == pytest.approx(np.cov(inside.T, bias=True), abs=5e-3)


def test_a_drawn_outline_gets_the_ellipse_of_its_area():
    """A rectangle w x h has semi-axes w/sqrt(3) and h/sqrt(3), whichever way round it is drawn."""
    corners = np.array([[10, 20], [16, 20], [16, 22], [10, 22]], float)
    for points in (corners, corners[::-1]):
        ellipse = ellipse_of_outline(points)
        assert ellipse.centre == pytest.approx((13, 21))
        assert ellipse.semi_axes == pytest.approx((6 / 3**0.5, 2 / 3**0.5))
        assert ellipse.angle_deg == pytest.approx(0)


@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2]], [[1, 1]] * 5, [[0, 0], [2, 2], [2, 0], [0, 2]]]
)
def test_outlines_without_area_are_refused(points):
    with pytest.raises(FormatError, match="outline"):
        ellipse_of_outline(np.array(points, float))
