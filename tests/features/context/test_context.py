"""A batch's measurements: kept, in the units they say, at the scale that fits."""

import numpy as np
from feature_scenes import anatomy, disc, radiograph

from overread.features import N_ANGLES, Context, ImageMaps
from overread.features.context._rays import PER_RADIUS, RAYS, RHO, SECOND_RHO, polar_first


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
