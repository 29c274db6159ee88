"""Public texture functions: against other libraries and brute force, symmetries, hostile input."""

import mahotas
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage, stats
from skimage.feature import graycomatrix, graycoprops

from overread.errors import InputTypeError, InvalidInputError
from overread.features import ibsi
from overread.features.ibsi import (
    FEATURE_NAMES,
    first_order_features,
    glcm_features,
    glrlm_features,
    glszm_features,
    ngldm_features,
    ngtdm_features,
    quantize,
    texture_features,
    texture_matrix,
)

LEVEL_FUNCTIONS = [glcm_features, glrlm_features, glszm_features, ngldm_features, ngtdm_features]


def region(seed: int, shape=(23, 31), sigma=1.0):
    rng = np.random.default_rng(seed)
    image = ndimage.gaussian_filter(rng.normal(size=shape), sigma)
    return image, rng.random(shape) > 0.2


def test_names():
    assert len(FEATURE_NAMES) == len(set(FEATURE_NAMES)) == 97
    assert sorted(ibsi.__all__) == ibsi.__all__


@pytest.mark.parametrize("distance", [1, 3])
def test_glcm_equals_scikit_image(distance):
    levels = quantize(region(0)[0], n_bins=8)
    # scikit-image rounds (distance sin, distance cos); the diagonal neighbour is sqrt(2) times further.
    diagonal = distance * np.sqrt(2)
    counts = [
        graycomatrix(levels, [d], [angle], levels=9, symmetric=True, normed=True)
        for d, angle in zip([distance, diagonal] * 2, np.pi / 4 * np.arange(4), strict=True)
    ]
    found = glcm_features(levels, distance=distance)
    names = {
        "contrast": "contrast",
        "dissimilarity": "dissimilarity",
        "homogeneity": "inverse_difference_moment",
        "ASM": "angular_second_moment",
        "correlation": "correlation",
    }
    for theirs, ours in names.items():
        expected = np.mean([graycoprops(matrix, theirs).item() for matrix in counts])
        assert found[ours] == pytest.approx(expected, abs=1e-12)


def test_haralick_equals_mahotas():
    levels = quantize(region(1)[0], n_bins=8)
    theirs = mahotas.features.haralick(levels.astype(np.uint8), ignore_zeros=False).mean(axis=0)
    found = glcm_features(levels)
    # Left out: mahotas' sum variance subtracts the sum entropy, as Haralick's paper printed it; its difference
    # variance is the variance of the histogram's entries.
    names = [
        "angular_second_moment",
        "contrast",
        "correlation",
        "joint_variance",
        "inverse_difference_moment",
        "sum_average",
        None,
        "sum_entropy",
        "joint_entropy",
        None,
        "difference_entropy",
        "information_correlation_1",
        "information_correlation_2",
    ]
    for value, name in zip(theirs, names, strict=True):
        if name is not None:
            assert found[name] == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_first_order_equals_numpy_and_scipy(n):
    x = np.random.default_rng(n).gamma(2.0, size=(1, n)) + 1
    found = first_order_features(x)
    p10, p25, p50, p75, p90 = np.percentile(x, [10, 25, 50, 75, 90])
    middle = x[(x >= p10) & (x <= p90)]
    expected = {
        "mean": x.mean(),
        "variance": x.var(),
        "median": p50,
        "minimum": x.min(),
        "p10": p10,
        "p90": p90,
        "maximum": x.max(),
        "interquartile_range": p75 - p25,
        "range": np.ptp(x),
        "mean_absolute_deviation": np.abs(x - x.mean()).mean(),
        "robust_mean_absolute_deviation": np.abs(middle - middle.mean()).mean() if middle.size else 0.0,
        "median_absolute_deviation": np.abs(x - p50).mean(),
        "coefficient_of_variation": x.std() / x.mean(),
        "quartile_coefficient_of_dispersion": (p75 - p25) / (p75 + p25),
        "energy": (x**2).sum(),
        "root_mean_square": np.sqrt((x**2).mean()),
    }
    if n > 1:
        expected["skewness"] = stats.skew(x.ravel())
        expected["kurtosis"] = stats.kurtosis(x.ravel())
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@settings(max_examples=40)
@given(st.lists(st.sampled_from([-3.0, 0.0, 0.0, 1.0, 1e-9, 1e6]), min_size=1, max_size=60))
def test_percentiles_equal_numpy_with_ties_and_outliers(values):
    x = np.array(values)[None]
    found = first_order_features(x)
    expected = np.percentile(x, [10, 50, 90])
    np.testing.assert_allclose(
        [found["p10"], found["median"], found["p90"]], expected, rtol=1e-12, atol=1e-12
    )


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_zones_equal_scipy_labels(seed):
    image, mask = region(seed, (9, 12), 0.7)
    levels = quantize(image, mask, n_bins=4)
    sizes = []
    for level in range(1, 5):
        labels, n = ndimage.label(levels == level, np.ones((3, 3)))
        sizes += [(level, size) for size in np.bincount(labels.ravel())[1 : n + 1]]
    level, size = np.array(sizes, float).T
    found = glszm_features(levels, n_levels=4)
    assert found["small_zone_emphasis"] == pytest.approx((1 / size**2).mean())
    assert found["large_zone_high_level_emphasis"] == pytest.approx((size**2 * level**2).mean())
    assert found["zone_percentage"] == pytest.approx(len(size) / mask.sum())
    assert found["zone_size_variance"] == pytest.approx(size.var(), abs=1e-9)
    cells = np.unique(np.array(sizes), axis=0, return_counts=True)[1] / len(sizes)
    assert found["zone_entropy"] == pytest.approx(-(cells * np.log2(cells)).sum(), abs=1e-12)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_runs_and_neighbours_equal_brute_force(seed):
    image, mask = region(seed, (7, 9), 0.7)
    levels = quantize(image, mask, n_bins=3)
    expected = []
    for down, right in [(0, 1), (1, 1), (1, 0), (1, -1)]:
        runs = []
        for y, x in np.argwhere(levels):
            inside = (0 <= y - down < 7) and (0 <= x - right < 9)
            if inside and levels[y - down, x - right] == levels[y, x]:
                continue
            length = 1
            while (
                y + length * down < 7
                and 0 <= x + length * right < 9
                and levels[y + length * down, x + length * right] == levels[y, x]
            ):
                length += 1
            runs.append(length)
        expected.append(np.mean(np.square(runs)))
    assert glrlm_features(levels)["long_run_emphasis"] == pytest.approx(np.mean(expected))
    padded = np.pad(levels, 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))[levels > 0].reshape(-1, 9)
    same = (windows == windows[:, 4:5]).sum(axis=1)
    assert ngldm_features(levels)["high_dependence_emphasis"] == pytest.approx(
        (same.astype(float) ** 2).mean()
    )


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
    assert texture_matrix(np.zeros((0, 4, 4))).shape == (0, 97)


def test_families_alone_equal_all_together():
    image, mask = region(5)
    levels = quantize(image, mask)
    together = texture_features(image, mask)
    alone = {f"first_order.{k}": v for k, v in first_order_features(image, mask).items()}
    for function in LEVEL_FUNCTIONS:
        family = function.__name__.removesuffix("_features")
        alone |= {f"{family}.{k}": v for k, v in function(levels, n_levels=32).items()}
    assert alone == together


@pytest.mark.parametrize("image", [np.zeros((1, 1)), np.full((5, 6), 7.0), np.ones((1, 9)), np.eye(2)])
def test_degenerate_regions_are_finite(image):
    found = texture_features(image + 1)
    assert all(np.isfinite(value) for value in found.values())


def test_large_region_beyond_the_table():
    found = glcm_features(np.repeat([[1, 2]], 5000, axis=0))
    assert found["angular_second_moment"] == pytest.approx((3 * 0.5 + 0.5) / 4)
    assert found["joint_entropy"] == pytest.approx(1.0)


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


def test_bad_distance_and_batch():
    with pytest.raises(InvalidInputError, match="distance"):
        glcm_features(np.ones((3, 3), int), distance=3)
    with pytest.raises(InvalidInputError, match="dimensions"):
        texture_matrix(np.zeros((3, 3)))
    with pytest.raises(InvalidInputError, match="one each"):
        texture_matrix(np.zeros((3, 3, 3)), np.ones((2, 3, 3), bool))
