"""Levels: the formula, the border, hostile input."""

import numpy as np
import pytest
from feature_scenes import region

from overread.errors import InputTypeError, InvalidInputError
from overread.features import (
    glcm_features,
    glrlm_features,
    glszm_features,
    ngldm_features,
    ngtdm_features,
    quantize,
)
from overread.features.ibsi._levels import add_border, quantize_into

LEVEL_FUNCTIONS = [glcm_features, glrlm_features, glszm_features, ngldm_features, ngtdm_features]


def test_quantize_equals_its_formula():
    image, mask = region(2)
    x = image[mask]
    expected = np.zeros(image.shape, int)
    expected[mask] = np.minimum(np.floor(8 * (x - x.min()) / np.ptp(x)) + 1, 8)
    found = quantize(image, mask, n_bins=8)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.uint16
    assert quantize(np.full((2, 3), 7.0)).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_values_beyond_the_limits_fall_into_the_outer_bins():
    levels = np.zeros((3, 5), np.uint16)
    quantize_into(np.array([[-9.0, 0.1, 9.0]]), np.ones((1, 3), bool), 0.0, 1.0, 4, levels)
    assert levels.tolist() == [[0] * 5, [0, 1, 1, 4, 0], [0] * 5]


def test_border():
    padded, n_pixels, n_levels = add_border(np.array([[0, 3], [1, 0]]), None)
    assert padded.tolist() == [[0, 0, 0, 0], [0, 0, 3, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert (n_pixels, n_levels) == (2, 3)
    assert add_border(np.array([[0, 3]]), 8)[2] == 8


@pytest.mark.parametrize(
    ("levels", "options", "error", "says"),
    [
        (np.ones((2, 2)), {}, InputTypeError, "quantize"),
        (np.ones(3, int), {}, InvalidInputError, "dimensions"),
        (np.zeros((3, 3), int), {}, InvalidInputError, "empty"),
        (np.array([[-1, 1]]), {}, InvalidInputError, "levels"),
        (np.array([[1, 9]]), {"n_levels": 8}, InvalidInputError, "levels"),
        (np.array([[1, 9999]]), {}, InvalidInputError, "4096"),
    ],
)
@pytest.mark.parametrize("function", LEVEL_FUNCTIONS)
def test_bad_levels(function, levels, options, error, says):
    with pytest.raises(error, match=says):
        function(levels, **options)
