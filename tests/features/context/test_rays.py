"""Points on rays: sampling of images whose values and derivatives are known, means over points."""

import numpy as np
import pytest

from overread.features import N_ANGLES, band_mean, sector_means
from overread.features.context._rays import (
    PER_RADIUS,
    RAYS,
    RHO,
    angle_mean,
    area_mean,
    make_rays,
    opposite_min,
    outline_at,
    polar_first,
    polar_grey,
    polar_mask,
    polar_second,
    principal_curvatures,
)

Y, X = np.mgrid[:80, :90].astype(float)
PLACES = np.array([40.3, 52.0]), np.array([38.9, 41.5]), np.array([6.0, 9.5])


def points(column, row, radius):
    """Where the points are: (place, ray, rho) of x and of y."""
    reach = radius[:, None, None] * RHO
    return column[:, None, None] + RAYS[:, :1] * reach, row[:, None, None] + RAYS[:, 1:] * reach


def test_rays_are_a_circle_and_a_quarter_turn_maps_them_exactly():
    np.testing.assert_allclose(np.hypot(*RAYS.T), 1.0, rtol=1e-15)
    quarter = np.roll(RAYS, -N_ANGLES // 4, axis=0)
    np.testing.assert_array_equal(quarter, np.stack([-RAYS[:, 1], RAYS[:, 0]], axis=1))
    assert make_rays(16).shape == (16, 2)


def test_grey_of_a_plane():
    x, y = points(*PLACES)
    found = polar_grey((0.3 * X - 0.2 * Y).astype(np.float32), *PLACES, RHO, RAYS)
    np.testing.assert_allclose(found, 0.3 * x - 0.2 * y, atol=2e-5)


def test_first_derivatives_of_a_plane():
    along, across = polar_first((0.3 * X - 0.2 * Y).astype(np.float32), *PLACES, RHO, RAYS)
    gradient = np.array([0.3, -0.2])
    np.testing.assert_allclose(along[0, :, 3], RAYS @ gradient, atol=2e-5)
    np.testing.assert_allclose(across[1, :, 20], RAYS @ [gradient[1], -gradient[0]], atol=2e-5)


def test_second_derivatives_of_a_parabola():
    """At whole pixels with whole steps interpolation is exact: d2/dx2 = 0.02, d2/dy2 = -0.04, mixed 0.01."""
    image = (0.01 * X**2 - 0.02 * Y**2 + 0.01 * X * Y).astype(np.float32)
    place = np.array([40.0]), np.array([30.0]), np.array([0.0])
    along, across, mixed = polar_second(image, *place, np.zeros(1), np.array([[1.0, 0.0], [0.0, 1.0]]), 2.0)
    np.testing.assert_allclose(along[0, :, 0], [0.02, -0.04], atol=1e-5)
    np.testing.assert_allclose(across[0, :, 0], [-0.04, 0.02], atol=1e-5)
    np.testing.assert_allclose(mixed[0, :, 0], [0.01, -0.01], atol=1e-5)


def test_curvatures_of_a_gaussian_blob_and_a_ridge():
    sigma = 6.0
    blob = np.exp(-((X - 45) ** 2 + (Y - 40) ** 2) / (2 * sigma**2)).astype(np.float32)
    ridge = np.exp(-((X - 45) ** 2) / (2 * sigma**2)).astype(np.float32)
    place = np.array([45.0]), np.array([40.0])
    # -s^2 times the second difference over s / 3, in place of the derivative, which would give 1.
    curved = 18 * (1 - np.exp(-1 / 18))
    for image, expected in ((blob, (curved, curved)), (ridge, (curved, 0.0))):
        k1, k2 = principal_curvatures(image, *place, scale_px=sigma)
        np.testing.assert_allclose([k1[0, 0], k2[0, 0]], expected, atol=1e-4)


def test_mask_is_that_of_the_nearest_pixel_and_false_beyond_the_image():
    mask = np.random.default_rng(0).random((80, 90)) > 0.5
    x, y = points(*PLACES)
    i, j = np.floor(y + 0.5).astype(int), np.floor(x + 0.5).astype(int)
    np.testing.assert_array_equal(polar_mask(mask, *PLACES, RHO, RAYS), mask[i, j])
    corner = np.array([0.0]), np.array([0.0]), np.array([10.0])
    outside = polar_mask(np.ones((80, 90), bool), *corner, RHO, RAYS)[0, N_ANGLES // 2]
    assert outside.tolist() == [True, *[False] * 24]


def test_outline_is_that_around_the_nearest_pixel():
    patches = np.random.default_rng(1).random((2, 61, 61)) > 0.5
    whole = np.zeros((2, 200, 200), bool)
    column, row, radius = PLACES
    for k in range(2):
        top, left = int(np.floor(row[k] + 0.5)) + 20, int(np.floor(column[k] + 0.5)) + 20
        whole[k, top : top + 61, left : left + 61] = patches[k]
        expected = polar_mask(
            whole[k], column[k : k + 1] + 50, row[k : k + 1] + 50, radius[k : k + 1], RHO, RAYS
        )
        np.testing.assert_array_equal(outline_at(patches, *PLACES, RHO, RAYS)[k], expected[0])


def test_means_weigh_by_area():
    values = np.random.default_rng(2).random((3, N_ANGLES, RHO.size)).astype(np.float32)
    where = np.random.default_rng(3).random(values.shape) > 0.3
    np.testing.assert_allclose(angle_mean(values), values.mean(axis=1), rtol=1e-6)
    weights = np.broadcast_to(RHO, values.shape)
    expected = [np.average(v[w], weights=a[w]) for v, w, a in zip(values, where, weights, strict=True)]
    np.testing.assert_allclose(area_mean(values, where), expected, rtol=1e-5)
    assert area_mean(values, np.zeros_like(where)).tolist() == [0.0, 0.0, 0.0]
    band = slice(PER_RADIUS, 2 * PER_RADIUS)
    expected = np.average(values[:, :, band], axis=2, weights=RHO[band])
    np.testing.assert_allclose(band_mean(values, 1.0, 2.0), expected, rtol=1e-5)


def test_sectors_wrap_around_and_opposite_rays_are_paired():
    rays = np.random.default_rng(4).random((2, 16))
    expected = np.mean([np.roll(rays, shift, axis=1) for shift in range(-2, 3)], axis=0)
    np.testing.assert_allclose(sector_means(rays, half=2), expected, rtol=1e-12)
    line = np.ones((1, 16))
    line[0, [3, 11]] = 0.0
    assert opposite_min(line)[0] == 0.0
    line[0, 11] = 1.0
    assert opposite_min(line)[0] == pytest.approx(0.5)
