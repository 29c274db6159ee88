"""Levels, and all features of a region together: formulas, symmetries, batches, hostile input."""

import numpy as np
import pytest
from feature_scenes import region

from overread.errors import InputTypeError, InvalidInputError
from overread.features import (
    FEATURE_NAMES,
    first_order_features,
    glcm_features,
    level_features,
    quantize,
    texture_features,
    texture_matrix,
)

LEVEL_FUNCTIONS = [glcm_features, level_features]


def test_names():
    assert len(FEATURE_NAMES) == len(set(FEATURE_NAMES)) == 97


@pytest.mark.parametrize("function", LEVEL_FUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_turns_and_mirrors_change_nothing(function, seed):
    levels = quantize(*region(seed), n_bins=16)
    expected = function(levels)
    for moved in (np.rot90(levels), levels[::-1], levels[:, ::-1], levels.T):
        found = function(np.ascontiguousarray(moved))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_what_an_affine_change_of_intensity_leaves():
    image, mask = region(3)
    image = np.round(image * 1024)
    levels = quantize(image, mask)
    np.testing.assert_array_equal(quantize(4 * image + 3, mask), levels)
    before, after = texture_features(image, mask), texture_features(4 * image + 3, mask)
    for name in FEATURE_NAMES:
        if not name.startswith("first_order") or name.endswith(("skewness", "kurtosis")):
            assert after[name] == pytest.approx(before[name], rel=1e-9), name


def test_pixels_outside_the_mask_do_not_matter():
    image, mask = region(4)
    spoiled = np.where(mask, image, np.nan)
    assert texture_features(spoiled, mask) == texture_features(image, mask)
    padded = texture_features(np.pad(image, 5), np.pad(mask, 5))
    assert padded == pytest.approx(texture_features(image, mask), rel=1e-12)


def test_batch_equals_one_by_one():
    images, masks = zip(*[region(seed) for seed in range(4)], strict=True)
    rows = texture_matrix(images, masks, n_bins=16)
    for row, image, mask in zip(rows, images, masks, strict=True):
        np.testing.assert_array_equal(row, list(texture_features(image, mask, n_bins=16).values()))
    assert texture_matrix(np.zeros((0, 4, 4))).shape == (0, len(FEATURE_NAMES))


def test_families_alone_equal_all_together():
    image, mask = region(5)
    levels = quantize(image, mask)
    together = texture_features(image, mask)
    alone = {f"first_order.{k}": v for k, v in first_order_features(image, mask).items()}
    alone |= {f"glcm.{k}": v for k, v in glcm_features(levels, n_levels=32).items()}
    alone |= level_features(levels, n_levels=32)
    # Sums over other strides end in other last bits with some versions of NumPy.
    assert alone == pytest.approx(together, rel=1e-12)


@pytest.mark.parametrize("image", [np.zeros((1, 1)), np.full((5, 6), 7.0), np.ones((1, 9)), np.eye(2)])
def test_degenerate_regions_are_finite(image):
    found = texture_features(image + 1)
    assert all(np.isfinite(value) for value in found.values())


@pytest.mark.parametrize(
    ("arguments", "options", "error", "says"),
    [
        ((np.zeros(3),), {}, InvalidInputError, "dimensions"),
        ((np.zeros((2, 2), complex),), {}, InputTypeError, "complex"),
        (([["a"]],), {}, InputTypeError, "real numbers"),
        ((np.zeros((2, 2)), np.zeros((2, 3), bool)), {}, InvalidInputError, "shape"),
        ((np.zeros((2, 2)), np.zeros((2, 2), bool)), {}, InvalidInputError, "empty"),
        ((np.zeros((0, 2)),), {}, InvalidInputError, "empty"),
        ((np.zeros((2, 2)), np.full((2, 2), 2)), {}, InputTypeError, "booleans"),
        ((np.array([[np.nan, 1.0]]),), {}, InvalidInputError, "NaN"),
        ((np.array([[-1e300, 1e300]]),), {}, InvalidInputError, "range"),
        ((np.eye(2),), {"n_bins": 0}, InvalidInputError, "n_bins"),
        ((np.eye(2),), {"n_bins": 5000}, InvalidInputError, "n_bins"),
        ((np.eye(2),), {"n_bins": 2.5}, InputTypeError, "whole"),
    ],
)
def test_bad_regions(arguments, options, error, says):
    with pytest.raises(error, match=says):
        texture_features(*arguments, **options)


def test_bad_batch():
    with pytest.raises(InvalidInputError, match="dimensions"):
        texture_matrix(np.zeros((3, 3)))
    with pytest.raises(InvalidInputError, match="one each"):
        texture_matrix(np.zeros((3, 3, 3)), np.ones((2, 3, 3), bool))


def test_quantize_equals_its_formula():
    image, mask = region(2)
    x = image[mask]
    expected = np.zeros(image.shape, int)
    expected[mask] = np.minimum(np.floor(8 * (x - x.min()) / np.ptp(x)) + 1, 8)
    found = quantize(image, mask, n_bins=8)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.uint16
    assert quantize(np.full((2, 3), 7.0)).tolist() == [[1, 1, 1], [1, 1, 1]]


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
