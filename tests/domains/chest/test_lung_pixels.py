import numpy as np
import pytest
from scipy.ndimage import center_of_mass
from scipy.stats import rankdata

from overread.domains.chest._lungs import (
    COARSE_MM,
    LIMITS,
    POSITION_MM,
    centre_of_mass,
    coarsen,
    describe_appearance,
    describe_context,
    rank_pixels,
    shift,
)
from radiograph_pictures import MM, radiograph

IMAGE = np.random.default_rng(0).random((80, 70)).astype(np.float32)


def test_the_coarse_image_is_the_mean_of_blocks_and_padding_is_air():
    """On a grid of 0.7 mm five pixels by five are one."""
    pixels = np.random.default_rng(0).random((50, 40)).astype(np.float32)
    valid = np.ones(pixels.shape, dtype=bool)
    valid[:10] = False
    found = coarsen(radiograph(pixels, valid))
    assert round(COARSE_MM / MM) == 5
    filled = np.where(valid, pixels, LIMITS[0])
    np.testing.assert_allclose(found, filled.reshape(10, 5, 8, 5).mean(axis=(1, 3)), atol=1e-5)


def test_extremes_are_cut():
    found = coarsen(radiograph(np.array([[1e30, -1e30] * 20] * 40)))
    assert LIMITS[0] <= found.min() <= found.max() <= np.float32(LIMITS[1])


def test_ranks_are_shares_of_darker_pixels_whatever_the_tone():
    expected = (rankdata(IMAGE).reshape(IMAGE.shape) - 0.5) / IMAGE.size
    np.testing.assert_allclose(rank_pixels(IMAGE), expected, atol=0.003)
    np.testing.assert_allclose(rank_pixels(IMAGE**1.5), expected, atol=0.01)


@pytest.mark.parametrize(("dx", "dy"), [(2, 0), (0, -3), (-4, 5)])
def test_a_shift_looks_at_an_offset_and_the_border_goes_on(dx, dy):
    found = shift(IMAGE, dx * COARSE_MM, dy * COARSE_MM)
    padded = np.pad(IMAGE, 5, mode="edge")
    rows, columns = IMAGE.shape
    np.testing.assert_array_equal(found, padded[5 + dy : 5 + dy + rows, 5 + dx : 5 + dx + columns])


def test_the_centre_of_mass_is_that_of_scipy_and_the_middle_without_mass():
    assert centre_of_mass(IMAGE) == pytest.approx(center_of_mass(IMAGE), rel=1e-5)
    assert centre_of_mass(np.zeros((11, 21), dtype=np.float32)) == (5.0, 10.0)


def test_appearance_says_where_a_pixel_is_and_does_not_see_far_more():
    found = describe_appearance(IMAGE)
    assert found.shape[1:] == IMAGE.shape
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    x, y = found[-5:-3]
    np.testing.assert_allclose(x[0], (np.arange(70) - 34.5) * COARSE_MM / POSITION_MM, rtol=1e-5)
    np.testing.assert_allclose(y[:, 0], (np.arange(80) - 39.5) * COARSE_MM / POSITION_MM, rtol=1e-5)
    # A constant has no contrast and no gradient.
    flat = describe_appearance(np.full((30, 30), 0.5, dtype=np.float32))
    np.testing.assert_allclose(flat[4:12], 0, atol=1e-6)


def test_context_exchanges_with_its_lungs():
    own, other = np.random.default_rng(1).random((2, 40, 50)).astype(np.float32)
    one, two = describe_context(own, other), describe_context(other, own)
    half = (len(one) - 5) // 2
    np.testing.assert_array_equal(one[:half], two[half : 2 * half])
    np.testing.assert_array_equal(one[-5:], two[-5:])
    np.testing.assert_array_equal(one[0], own)
