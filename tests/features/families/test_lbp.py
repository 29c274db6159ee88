"""Local binary patterns against scikit-image."""

import numpy as np
import pytest
from skimage.feature import local_binary_pattern
from texture_scenes import patch_of


@pytest.mark.parametrize("radius", [1, 2, 3])
def test_patterns_equal_scikit_image(original, texture, radius):
    points = 8 * radius
    whole = (texture * 4096).astype(np.int64)
    theirs = patch_of(local_binary_pattern(whole, points, radius, "uniform")).astype(int)
    expected = np.bincount(theirs.ravel(), minlength=points + 2) / theirs.size
    found = [original[f"lbp.r{radius}_p{points}.pattern{k}"] for k in range(points + 2)]
    # A neighbour interpolated to the very value of its centre may fall on either side: 4 of 3969 points allowed.
    np.testing.assert_allclose(found, expected, atol=4 / theirs.size)


def test_shares_sum_to_1(original):
    for radius in (1, 2, 3):
        shares = [value for name, value in original.items() if name.startswith(f"lbp.r{radius}_")]
        assert sum(shares) == pytest.approx(1.0, abs=1e-6)
