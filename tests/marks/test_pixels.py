"""Ellipses keep their points when the plane is scaled."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from overread.marks import rescale_ellipses
from overread.marks._ellipse import ellipses_of_matrices

lengths = st.floats(0.1, 100)
angles = st.floats(-720, 720)
spacings = st.floats(0.05, 2)


def boundary(row: np.ndarray) -> np.ndarray:
    x, y, a, b, angle = row
    t = np.linspace(0, 2 * np.pi, 37)
    turn = np.deg2rad(angle)
    along, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    return np.array([x, y]) + a * np.outer(np.cos(t), along) + b * np.outer(np.sin(t), across)


def level(row: np.ndarray, points: np.ndarray) -> np.ndarray:
    """((u.d)/a)^2 + ((v.d)/b)^2, which is 1 on the ellipse."""
    x, y, a, b, angle = row
    turn = np.deg2rad(angle)
    dx, dy = points[:, 0] - x, points[:, 1] - y
    along, across = dx * np.cos(turn) + dy * np.sin(turn), -dx * np.sin(turn) + dy * np.cos(turn)
    return (along / a) ** 2 + (across / b) ** 2


@given(
    x=st.floats(-500, 500),
    y=st.floats(-500, 500),
    a=lengths,
    b=lengths,
    angle=angles,
    sx=spacings,
    sy=spacings,
)
@settings(deadline=None, max_examples=200, derandomize=True)
def test_scaled_points_lie_on_the_scaled_ellipse(x, y, a, b, angle, sx, sy):
    row = np.array([x, y, a, b, angle])
    scaled = rescale_ellipses([row], sx, sy)[0]
    assert_allclose(level(scaled, boundary(row) * [sx, sy]), 1, rtol=1e-7)
    assert scaled[2] >= scaled[3] > 0
    assert 0 <= scaled[4] < 180
    assert_allclose(scaled[2] * scaled[3], a * b * sx * sy, rtol=1e-12)


@given(a=lengths, b=lengths, angle=angles, sx=spacings, sy=spacings)
@settings(deadline=None, max_examples=100, derandomize=True)
def test_there_and_back_gives_the_same_points(a, b, angle, sx, sy):
    row = np.array([10.0, 20.0, a, b, angle])
    back = rescale_ellipses(rescale_ellipses([row], sx, sy), 1 / sx, 1 / sy)[0]
    assert_allclose(level(back, boundary(row)), 1, rtol=1e-6)


def test_square_pixels_lose_no_digit():
    row = [1.1, 2.2, 3.3, 1.7, 33.3]
    assert rescale_ellipses([row], 2.0, 2.0)[0].tolist() == [2.2, 4.4, 6.6, 3.4, 33.3]


def test_unequal_spacings_turn_and_stretch():
    """A circle becomes an upright ellipse; an ellipse at 45 degrees turns towards the longer spacing."""
    assert_allclose(rescale_ellipses([[0, 0, 1, 1, 0]], 0.1, 0.2)[0], [0, 0, 0.2, 0.1, 90])
    turned = rescale_ellipses([[0, 0, 2, 1, 45]], 1.0, 2.0)[0]
    matrix = np.diag([1.0, 2.0]) @ np.array([[1, -1], [1, 1]]) / np.sqrt(2) @ np.diag([2.0, 1.0])
    left, singular, _ = np.linalg.svd(matrix)
    assert_allclose(turned[2:4], singular)
    assert_allclose(turned[4], np.rad2deg(np.arctan2(left[1, 0], left[0, 0])) % 180)


def test_matrices_against_singular_values():
    matrices = np.random.default_rng(0).normal(size=(50, 2, 2))
    rows = ellipses_of_matrices(np.zeros((50, 2)), matrices)
    assert_allclose(rows[:, 2:4], np.linalg.svd(matrices, compute_uv=False), rtol=1e-9)


def test_a_thin_ellipse_keeps_its_short_axis():
    row = rescale_ellipses([[0, 0, 1e6, 1e-6, 30]], 1.0, 3.0)[0]
    assert_allclose(row[2] * row[3], 3.0, rtol=1e-12)


def test_no_ellipses_at_all():
    assert rescale_ellipses(np.empty((0, 5)), 1.0, 2.0).shape == (0, 5)
