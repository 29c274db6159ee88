"""Numbers of outlines against scikit-image and known figures."""

import numpy as np
import pytest

from overread.features.context._rays import RAYS
from overread.features.context._shapes import Outlines, ray_lengths, shape_numbers

ROWS, COLUMNS = np.mgrid[-30:31, -30:31]


def ellipse(a, b, degrees):
    turn = np.radians(degrees)
    along = COLUMNS * np.cos(turn) + ROWS * np.sin(turn)
    across = ROWS * np.cos(turn) - COLUMNS * np.sin(turn)
    return (along / a) ** 2 + (across / b) ** 2 <= 1.0


MASKS = np.stack([ellipse(12, 12, 0), ellipse(20, 8, 30), ellipse(15, 6, 100), ellipse(25, 4, 170)])


def outlines(masks):
    n = len(masks)
    place = np.full(n, 30.0), np.full(n, 30.0), np.full(n, 20.0)
    return Outlines(shape_numbers(masks), ray_lengths(masks, *place, RAYS, 1 / 30))


def test_hull_of_a_rectangle_of_pixels():
    """Its corners are midpoints of sides: 8 of them, each corner of the rectangle cut by half a pixel."""
    mask = np.zeros((1, 61, 61), bool)
    mask[0, 25:36, 28:33] = True
    found = {name: value[0] for name, value in shape_numbers(mask).items()}
    assert found["area"] == 55
    assert found["hull_area"] == pytest.approx(55 - 4 * 0.125)
    assert found["hull_perimeter"] == pytest.approx(2 * (10 + 4) + 4 * np.sqrt(0.5))
    assert found["smallest_width"] == pytest.approx(5.0)
    assert found["largest_width"] == pytest.approx(max(np.hypot(11, 4), np.hypot(10, 5)))


@pytest.mark.parametrize(("k", "a", "b", "degrees"), [(1, 20, 8, 30), (2, 15, 6, 100), (3, 25, 4, 170)])
def test_axes_and_direction_of_an_ellipse(k, a, b, degrees):
    found = outlines(MASKS)
    np.testing.assert_allclose(2 * np.sqrt(found.variances[k]), [a, b], rtol=0.05)
    assert found.elongation[k] == pytest.approx(1 - b / a, abs=0.03)
    assert np.degrees(found.direction[k]) % 180 == pytest.approx(degrees, abs=1.0)


def test_radius_along_rays_of_a_disc():
    found = outlines(MASKS).ray_radius[0]
    np.testing.assert_allclose(found, 12.3 / 20, atol=1.0 / 20)
    assert outlines(np.zeros_like(MASKS[:1]) | ((ROWS == 0) & (COLUMNS == 0))).ray_radius.min() >= 1 / 30
