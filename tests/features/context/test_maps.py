"""Maps of a radiograph and measurements of a batch: smoothing, distances, frames, scales; each is made once."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from feature_scenes import MM, SIDE, anatomy, disc, no_anatomy, noise, radiograph
from scipy import ndimage

from overread.features import N_ANGLES, Context, ImageMaps
from overread.features.context._maps import BASE_MM, SCALES_MM, Border, at_nearest_pixel, once
from overread.features.context._rays import PER_RADIUS, RAYS, RHO, SECOND_RHO, polar_first

PIXELS = 0.4 + noise(0.1)


def test_smoothing_equals_scipy():
    maps = ImageMaps(radiograph(PIXELS), anatomy())
    for level, sigma in zip((maps.base, *maps.scale_space), (BASE_MM, *SCALES_MM), strict=True):
        expected = ndimage.gaussian_filter(PIXELS, sigma / MM, mode="nearest")
        np.testing.assert_allclose(level[60:-60, 60:-60], expected[60:-60, 60:-60], atol=2e-3)


def test_pixels_without_a_value_take_the_nearest_and_wild_ones_are_cut():
    pixels, valid = PIXELS.copy(), np.ones((SIDE, SIDE), bool)
    valid[:, :10] = False
    pixels[50, 50] = 1e9
    grey = ImageMaps(radiograph(pixels, valid=valid), anatomy()).grey
    np.testing.assert_allclose(grey[:, 3], PIXELS[:, 10], rtol=1e-6)
    assert grey[50, 50] == 10.0


def test_signed_distance_equals_scipy():
    mask = anatomy().left_lung
    row, column = np.random.default_rng(0).integers(0, SIDE, (2, 200)).astype(float)
    outside = ndimage.distance_transform_edt(~mask) - ndimage.distance_transform_edt(mask)
    expected = np.clip(outside[row.astype(int), column.astype(int)] * 0.7, -60, 60)
    found = Border.of(mask).signed_distance(column, row, mm_per_px=0.7)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    nothing = Border.of(np.zeros((5, 5), bool)).signed_distance(np.ones(1), np.ones(1), mm_per_px=1.0)
    assert nothing.tolist() == [60.0]


def test_nearest_pixel():
    image = np.arange(12).reshape(3, 4)
    found = at_nearest_pixel(image, np.array([-3.0, 1.49, 1.5, 9.0]), np.array([0.0, 1.0, 1.0, 9.0]))
    assert found.tolist() == [0, 5, 6, 11]


def test_midline_and_frames():
    structures = anatomy()
    maps = ImageMaps(radiograph(PIXELS), structures)
    assert maps.midline == pytest.approx((SIDE - 1) / 2, abs=0.5)
    left, right = maps.lung_frames
    assert left.medial > left.lateral
    assert right.medial < right.lateral
    assert left.area == structures.left_lung.sum()
    rows = np.flatnonzero(structures.left_lung.any(axis=1))
    assert (left.top, left.bottom, left.height) == (rows[0], rows[-1], rows[-1] - rows[0])


def test_what_stands_in_for_a_missing_lung():
    structures = anatomy()
    one = replace(structures, right_lung=np.zeros((SIDE, SIDE), bool))
    maps = ImageMaps(radiograph(PIXELS), one)
    columns = np.arange(SIDE)
    half = structures.thorax & (columns >= maps.midline)
    assert maps.lung_frames[1].area == half.sum()
    nothing = ImageMaps(radiograph(PIXELS), no_anatomy())
    assert nothing.midline == (SIDE - 1) / 2
    assert nothing.lung_frames[0].area == SIDE * SIDE / 2


def test_once_is_once_among_threads():
    class Slow:
        def __init__(self):
            self.lock, self.calls = threading.RLock(), 0

        @once
        def value(self):
            self.calls += 1
            return object()

    slow, found = Slow(), []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.calls == 1
    assert len(set(map(id, found))) == 1


def context(radii=(8.0, 20.0), mm=0.7):
    maps = ImageMaps(radiograph(0.4 + disc(9.0), mm=mm), anatomy())
    outline = np.ones((2, 41, 41), bool)
    return Context(maps, np.array([108.5, 150.0]), np.array([140.8, 100.0]), np.array(radii), outline)


def test_gradient_is_taken_at_the_largest_scale_up_to_a_third_of_the_radius():
    """R = 5.6 mm: 1.6 mm; R = 14 mm: 4 mm."""
    batch = context()
    along, across = batch.matched_gradient
    assert along.shape == across.shape == (2, N_ANGLES // 2, 2 * PER_RADIUS)
    for k, level in ((0, 0), (1, 2)):
        one = slice(k, k + 1)
        place = batch.column[one], batch.row[one], batch.radius_px[one]
        expected = polar_first(batch.maps.scale_space[level], *place, RHO[: 2 * PER_RADIUS], RAYS[::2])
        np.testing.assert_array_equal(along[k], expected[0][0])


def test_curvature_is_per_mm2():
    """The same pixels on a grid of twice the pitch: the second derivative in mm is a quarter."""
    pixels = np.tile(1e-4 * (np.arange(320) - 150.0) ** 2, (320, 1))
    for mm in (0.7, 1.4):
        maps = ImageMaps(radiograph(pixels, mm=mm), anatomy())
        batch = Context(
            maps, np.array([150.0]), np.array([150.0]), np.array([8.0]), np.ones((1, 41, 41), bool)
        )
        along = batch.curvature[0][0, 0]
        assert along.shape == SECOND_RHO.shape
        np.testing.assert_allclose(along, 2e-4 / mm**2, rtol=0.02)
