"""Co-occurrence against scikit-image and its definition on a dense matrix."""

import numpy as np
import pytest
from feature_scenes import region
from skimage.feature import graycomatrix, graycoprops

from overread.errors import InvalidInputError
from overread.features import glcm_features, quantize
from overread.features.ibsi._glcm import GLCM, pair_features
from overread.features.ibsi._runs_zones import TABLE_LENGTH, n_log_n_table


def by_definition(p):
    """All features of one normalized symmetric matrix, straight from their formulas."""
    n = len(p)
    i, j = np.mgrid[1 : n + 1, 1 : n + 1]
    d = np.array([p[abs(i - j) == k].sum() for k in range(n)])
    s = np.array([p[i + j == k].sum() for k in range(2 * n + 1)])
    k, sums, px = np.arange(n), np.arange(2 * n + 1), p.sum(axis=0)

    def entropy(q):
        q = q[q > 0]
        return -(q * np.log2(q)).sum()

    mu = (i * p).sum()
    variance = ((i - mu) ** 2 * p).sum()
    hx, hxy = entropy(px), entropy(p)
    return {
        "joint_maximum": p.max(),
        "joint_average": mu,
        "joint_variance": variance,
        "joint_entropy": hxy,
        "difference_average": (k * d).sum(),
        "difference_variance": ((k - (k * d).sum()) ** 2 * d).sum(),
        "difference_entropy": entropy(d),
        "sum_average": (sums * s).sum(),
        "sum_variance": ((sums - (sums * s).sum()) ** 2 * s).sum(),
        "sum_entropy": entropy(s),
        "angular_second_moment": (p**2).sum(),
        "contrast": ((i - j) ** 2 * p).sum(),
        "dissimilarity": (abs(i - j) * p).sum(),
        "inverse_difference": (p / (1 + abs(i - j))).sum(),
        "normalized_inverse_difference": (p / (1 + abs(i - j) / n)).sum(),
        "inverse_difference_moment": (p / (1 + (i - j) ** 2)).sum(),
        "normalized_inverse_difference_moment": (p / (1 + (i - j) ** 2 / n**2)).sum(),
        "inverse_variance": 2 * (p[i < j] / ((i - j) ** 2)[i < j]).sum(),
        "correlation": ((i * j * p).sum() - mu**2) / variance,
        "autocorrelation": (i * j * p).sum(),
        "cluster_tendency": ((i + j - 2 * mu) ** 2 * p).sum(),
        "cluster_shade": ((i + j - 2 * mu) ** 3 * p).sum(),
        "cluster_prominence": ((i + j - 2 * mu) ** 4 * p).sum(),
        "information_correlation_1": (hxy - 2 * hx) / hx,
        "information_correlation_2": np.sqrt(1 - np.exp(-2 * (2 * hx - hxy))),
    }


def dense_matrix(levels, down, right, n):
    """Symmetric, normalized, pair by pair."""
    p = np.zeros((n, n))
    rows, columns = levels.shape
    for y in range(rows):
        for x in range(columns):
            y2, x2 = y + down, x + right
            if 0 <= y2 < rows and 0 <= x2 < columns and levels[y, x] and levels[y2, x2]:
                p[levels[y, x] - 1, levels[y2, x2] - 1] += 1
                p[levels[y2, x2] - 1, levels[y, x] - 1] += 1
    return p / p.sum()


@pytest.mark.parametrize("distance", [1, 2])
def test_all_features_equal_their_formulas(distance):
    levels = quantize(*region(7, (12, 15)), n_bins=5)
    offsets = [(0, distance), (distance, distance), (distance, 0), (distance, -distance)]
    expected = [by_definition(dense_matrix(levels, *offset, 5)) for offset in offsets]
    found = glcm_features(levels, distance=distance, n_levels=5)
    assert list(found) == list(GLCM)
    for name in GLCM:
        assert found[name] == pytest.approx(np.mean([e[name] for e in expected]), rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("shape", [(4, 12), (12, 4), (9, 8)])
def test_each_direction_at_a_distance_beyond_one_side(shape):
    """Pairs of the last rows and columns belong to no square of pairs; a direction may have none at all."""
    levels = np.random.default_rng(3).integers(1, 4, shape)
    found = np.zeros((4, len(GLCM)))
    pair_features(np.pad(levels.astype(np.uint16), 1), 3, 5, n_log_n_table(TABLE_LENGTH), found)
    for row, (down, right) in zip(found, [(0, 5), (5, 5), (5, 0), (5, -5)], strict=True):
        possible = shape[0] > down and shape[1] > abs(right)
        expected = (
            by_definition(dense_matrix(levels, down, right, 3)) if possible else dict.fromkeys(GLCM, 0.0)
        )
        np.testing.assert_allclose(row, [expected[name] for name in GLCM], rtol=1e-9, atol=1e-9)


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


def test_large_region_beyond_the_table():
    found = glcm_features(np.repeat([[1, 2]], 5000, axis=0))
    assert found["angular_second_moment"] == pytest.approx((3 * 0.5 + 0.5) / 4)
    assert found["joint_entropy"] == pytest.approx(1.0)


def test_distance_beyond_the_image_is_refused():
    with pytest.raises(InvalidInputError, match="distance"):
        glcm_features(np.ones((3, 3), int), distance=3)
