import numpy as np
import pytest

from overread.domains.chest._anatomy import (
    RIB_GRID_MM,
    RIB_SIGMA_MM,
    enlarge_directions,
    find_ribs,
    find_ridges,
)
from overread.features import Quality
from radiograph_pictures import MM, SHAPE, all_lung, radiograph, ramp, rod


@pytest.mark.parametrize("angle", [0, 25, 50, 130, 155])
def test_a_rod_looks_like_rib_and_its_direction_is_known(angle):
    image = radiograph(ramp() + rod(110, 6, angle))
    ribs, direction, _ = find_ribs(image, find_ridges(image), all_lung().lungs)
    axis = rod(110, 1.0, angle) > 0.2
    axis[:40], axis[-40:], axis[:, :40], axis[:, -40:] = False, False, False, False
    away = rod(110, 20, angle) == 0
    assert np.median(ribs[axis]) > 0.5 > np.quantile(ribs[away], 0.9)
    apart = np.abs((direction[axis] - angle + 90) % 180 - 90)
    assert np.median(apart) < 5


def test_an_upright_rod_is_no_rib():
    image = radiograph(ramp() + rod(110, 6, 90))
    ribs = find_ribs(image, find_ridges(image), all_lung().lungs)[0]
    assert np.median(ribs[rod(110, 1.0, 90) > 0.2]) == 0


def test_a_gaussian_ridge_has_the_curvature_of_the_closed_form():
    """Smoothed by sigma, a ridge of width s curves by sigma^2 s / (s^2 + sigma^2)^(3/2) of its height across it."""
    width, sigma = 6.0, RIB_SIGMA_MM
    y = (np.arange(SHAPE[0])[:, None] + 0.5) * MM - 110
    ridges = find_ridges(radiograph(np.broadcast_to(np.exp(-(y**2) / (2 * width**2)), SHAPE)))
    row, columns = round(110 / RIB_GRID_MM - 0.5), slice(10, -10)
    expected = sigma**2 * width / (width**2 + sigma**2) ** 1.5
    np.testing.assert_allclose(ridges.across(0.0)[row, columns], expected, rtol=0.1)
    np.testing.assert_allclose(ridges.across(np.pi / 2)[row, columns], 0, atol=0.01)
    np.testing.assert_allclose(ridges.coherence[row, columns], 1, atol=0.05)


def test_no_ribs_are_said_to_be_a_fallback_and_stripes_to_be_found():
    lungs = all_lung().lungs
    flat = radiograph(np.full(SHAPE, 0.5))
    assert find_ribs(flat, find_ridges(flat), lungs)[2] is Quality.FALLBACK
    y, x = np.mgrid[: SHAPE[0], : SHAPE[1]] * MM
    striped = radiograph(0.5 + 0.1 * np.cos(2 * np.pi * (y + 0.3 * x) / 25))
    assert find_ribs(striped, find_ridges(striped), lungs)[2] is Quality.FOUND


def test_ribs_are_sought_near_the_lungs_only():
    image = radiograph(ramp() + rod(110, 6, 20))
    left = all_lung().left_lung
    ribs = find_ribs(image, find_ridges(image), left)[0]
    beyond = np.nonzero(left)[1].max() + round(20 / MM)
    assert ribs[:, :beyond].max() > 0.5
    assert not ribs[:, beyond:].any()


def test_directions_are_interpolated_through_180_degrees():
    """Between 170 and 10 degrees lies 0, not 90."""
    coarse = np.radians(np.array([[170.0, 10.0], [170.0, 10.0]], dtype=np.float32))
    fine = enlarge_directions(coarse, (2, 64))
    apart = np.abs((fine + 90) % 180 - 90)
    assert apart.max() < 10.01
    assert apart[:, 31:33].max() < 1
