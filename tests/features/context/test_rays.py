"""Points on rays, the trend of the surround, and patches: against known values, numpy and scipy."""

import numpy as np
import pytest
from feature_scenes import radiograph
from scipy import ndimage

from overread.features import N_ANGLES, band_mean, sector_means
from overread.features.context._patches import CUT, NOISE_FLOOR, cut_patches, fit_trend, ring_around
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


RAY_X, RAY_Y = RAYS[:, :1] * RHO, RAYS[:, 1:] * RHO
EVERYWHERE = np.ones((1, N_ANGLES, RHO.size), bool)
RADIUS = np.ones((1, N_ANGLES))


def test_quadratic_surface_leaves_nothing():
    surface = 0.4 + 0.1 * RAY_X - 0.05 * RAY_Y + 0.02 * RAY_X**2 - 0.03 * RAY_X * RAY_Y + 0.01 * RAY_Y**2
    trend = fit_trend(surface[None].astype(np.float32), ring_around(RADIUS, EVERYWHERE))
    np.testing.assert_allclose(trend.detrended, 0.0, atol=1e-5)
    assert trend.noise[0] == pytest.approx(0.0, abs=1e-5)
    assert trend.noise_scale[0] == pytest.approx(NOISE_FLOOR, rel=1e-4)


def test_what_is_inside_stands_on_the_trend_of_the_ring():
    nodule = np.where(np.hypot(RAY_X, RAY_Y) < 1.0, 0.25, 0.0)
    trend = fit_trend((0.4 + 0.1 * RAY_X + nodule)[None].astype(np.float32), ring_around(RADIUS, EVERYWHERE))
    np.testing.assert_allclose(trend.detrended[0], nodule, atol=1e-4)


def test_noise_is_the_weighted_deviation_of_the_residual():
    grey = np.random.default_rng(0).normal(size=(1, N_ANGLES, RHO.size)).astype(np.float32)
    ring = ring_around(RADIUS, EVERYWHERE)
    x, y = RAY_X, RAY_Y
    basis = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1).reshape(-1, 6)
    root = np.sqrt(ring[0].ravel().astype(float))
    left = np.linalg.lstsq(basis * root[:, None], grey[0].ravel() * root, rcond=None)[0]
    residual = (grey[0].ravel() - basis @ left) * root
    expected = np.sqrt((residual**2).sum() / ring.sum(dtype=float))
    assert fit_trend(grey, ring).noise[0] == pytest.approx(expected, rel=1e-4)


def test_ring_lies_outside_the_outline_and_in_the_lung_if_enough_is():
    ring = ring_around(RADIUS, EVERYWHERE)
    used = RHO[ring[0].any(axis=0)]
    assert (used.min(), used.max()) == pytest.approx((1.25, 2.45))
    np.testing.assert_allclose(ring[0, 0, RHO > 1.2], RHO[RHO > 1.2], rtol=1e-6)
    half, quarter = EVERYWHERE.copy(), EVERYWHERE.copy()
    half[:, N_ANGLES // 2 :] = False
    quarter[:, N_ANGLES // 4 :] = False
    assert not ring_around(RADIUS, half)[0, N_ANGLES // 2 :].any()
    np.testing.assert_array_equal(ring_around(RADIUS, quarter), ring)


PIXELS = np.random.default_rng(0).random((90, 70)).astype(np.float32)


def test_on_the_default_grid_points_are_pixels():
    """Around the nearest pixel; the image's border goes on."""
    found = cut_patches(radiograph(PIXELS), np.array([5.2, 40.5]), np.array([80.0, 44.49]))
    wide = np.pad(PIXELS, CUT, mode="edge")
    for patch, (row, column) in zip(found, [(80, 5), (44, 41)], strict=True):
        top, left = row + CUT - CUT // 2, column + CUT - CUT // 2
        np.testing.assert_array_equal(patch, wide[top : top + CUT, left : left + CUT])


def test_corners_and_narrow_images():
    for shape in ((3, 200), (200, 3), (2, 2), (150, 140)):
        pixels = np.random.default_rng(1).random(shape).astype(np.float32)
        rows, columns = (np.array([0, size - 1, size // 2, size]) for size in shape)
        found = cut_patches(radiograph(pixels), columns.astype(float), rows.astype(float))
        for patch, row, column in zip(found, rows, columns, strict=True):
            lines, places = (
                np.clip(np.arange(CUT) - CUT // 2 + middle, 0, size - 1)
                for middle, size in zip((row, column), shape, strict=True)
            )
            np.testing.assert_array_equal(patch, pixels[np.ix_(lines, places)])


def test_on_another_grid_points_are_interpolated():
    found = cut_patches(radiograph(PIXELS, mm=1.4), np.array([33.0]), np.array([41.0]))[0]
    offsets = (np.arange(CUT) - CUT // 2) * 0.5
    rows, columns = np.clip(41 + offsets, 0, 89), np.clip(33 + offsets, 0, 69)
    expected = ndimage.map_coordinates(
        PIXELS.astype(float), np.meshgrid(rows, columns, indexing="ij"), order=1
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_wild_values_are_clipped():
    wild = PIXELS.copy()
    wild[45, 35], wild[46, 35] = 3e38, -3e38
    found = cut_patches(radiograph(wild), np.array([35.0]), np.array([45.0]))[0]
    assert (found.max(), found.min()) == (1e6, -1e6)
