"""Samples around candidates: where they lie, and what their means are."""

from __future__ import annotations

import numpy as np
import pytest

from overread.domains import PictureImage
from overread.domains.picture._context_features import RHO, Surroundings, mean_between, spread_between


@pytest.fixture
def around() -> Surroundings:
    plane = np.tile(np.arange(200, dtype=np.float32), (150, 1))
    field = PictureImage({"main": plane}, np.ones(plane.shape, dtype=bool), 1.0)
    places = np.array([100.0, 60.0]), np.array([70.0, 80.0])
    return Surroundings(field, *places, np.array([5.0, 10.0]), np.array([1.0, 2.0]))


def test_a_slope_has_the_mean_of_the_centre_and_a_known_spread(around):
    """Over a disc the mean of x is that of its centre; over rays its variance is rho^2 R^2 / 2."""
    samples = around.sample(around.field.planes["main"])
    np.testing.assert_allclose(mean_between(samples, 0, 1), [100, 60], atol=1e-4)
    inside = RHO < 1
    expected = np.array([5.0, 10.0]) * np.sqrt((RHO[inside] ** 2).mean() / 2)
    np.testing.assert_allclose(spread_between(samples, 0, 1), expected, rtol=1e-4)


def test_means_weigh_as_areas_do(around):
    """Mean of rho over a disc is 2/3."""
    samples = np.broadcast_to(RHO, (2, 24, len(RHO)))
    np.testing.assert_allclose(mean_between(samples, 0, 1), 2 / 3, rtol=0.01)


def test_pixels_stay_in_the_picture(around):
    rows, columns = Surroundings(
        around.field, np.array([-3.0, 250.0]), np.array([149.7, 10.2]), np.ones(2), np.ones(2)
    ).pixels
    assert rows.tolist() == [149, 10]
    assert columns.tolist() == [0, 199]
