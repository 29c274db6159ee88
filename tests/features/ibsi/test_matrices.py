"""Runs, zones, dependences and tone differences against brute force, scipy's labels, formulas and closed forms."""

import numpy as np
import pytest
from feature_scenes import glrlm_features, glszm_features, ngldm_features, ngtdm_features, region
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from overread.features import quantize


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_long_runs_equal_brute_force(seed):
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


def test_runs_of_stripes():
    """Rows of one level each: along the row one run, across it runs of 1, in both diagonals runs of 1."""
    found = glrlm_features(np.repeat([[1], [2], [1], [2]], 6, axis=1))
    runs, long_runs = np.array([4, 24, 24, 24]), np.array([36.0, 1.0, 1.0, 1.0])
    assert found["run_percentage"] == pytest.approx((runs / 24).mean())
    assert found["long_run_emphasis"] == pytest.approx(long_runs.mean())
    assert found["short_run_emphasis"] == pytest.approx((1 / long_runs).mean())
    assert found["level_variance"] == pytest.approx(0.25)
    assert found["run_length_variance"] == pytest.approx(0.0)
    assert found["run_entropy"] == pytest.approx(1.0)


def test_pixel_outside_the_region_ends_a_run():
    found = glrlm_features(np.array([[1, 1, 0, 1, 1, 1]]))
    along = (2**2 + 3**2) / 2
    assert found["long_run_emphasis"] == pytest.approx((along + 3 * 1.0) / 4)


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


def test_shapes_that_join_late():
    """A comb and a spiral: labels given apart must end as one zone."""
    comb = np.ones((7, 9), int)
    comb[:-1, 1::2] = 2
    found = glszm_features(comb)
    sizes = np.array([comb.size - 24, 6, 6, 6, 6], float)
    assert found["zone_percentage"] == pytest.approx(5 / comb.size)
    assert found["large_zone_emphasis"] == pytest.approx((sizes**2).mean())


@pytest.mark.parametrize("seed", range(4))
def test_dependences_equal_brute_force(seed):
    levels = quantize(*region(seed, (7, 9), 0.7), n_bins=3)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(levels, 1), (3, 3))[levels > 0].reshape(-1, 9)
    same, level = (windows == windows[:, 4:5]).sum(axis=1).astype(float), windows[:, 4].astype(float)
    found = ngldm_features(levels)
    assert found["high_dependence_emphasis"] == pytest.approx((same**2).mean())
    assert found["low_dependence_high_level_emphasis"] == pytest.approx((level**2 / same**2).mean())
    assert found["dependence_variance"] == pytest.approx(same.var(), abs=1e-12)
    assert found["dependence_percentage"] == 1.0
    cells = np.unique(np.stack([level, same]), axis=1, return_counts=True)[1] / len(level)
    assert found["dependence_entropy"] == pytest.approx(-(cells * np.log2(cells)).sum())
    assert found["dependence_energy"] == pytest.approx((cells**2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_tone_differences_equal_the_formulas(seed):
    levels = quantize(*region(seed), n_bins=5)
    ring = np.ones((3, 3))
    ring[1, 1] = 0
    around = ndimage.convolve((levels > 0).astype(float), ring, mode="constant")
    total = ndimage.convolve(levels.astype(float), ring, mode="constant")
    counted = (levels > 0) & (around > 0)
    gap = np.abs(levels - total / np.maximum(around, 1))
    i = np.unique(levels[counted]).astype(float)
    p = np.array([(levels[counted] == k).mean() for k in i])
    s = np.array([gap[counted & (levels == k)].sum() for k in i])
    n, g = counted.sum(), len(i)
    found = ngtdm_features(levels)
    apart = i[:, None] - i
    assert found["coarseness"] == pytest.approx(1 / (p * s).sum())
    contrast = (np.outer(p, p) * apart**2).sum() / (g * (g - 1)) * s.sum() / n
    assert found["contrast"] == pytest.approx(contrast)
    assert found["busyness"] == pytest.approx((p * s).sum() / np.abs((i * p)[:, None] - i * p).sum())
    weights = ((p * s)[:, None] + p * s) / (p[:, None] + p)
    assert found["complexity"] == pytest.approx((np.abs(apart) * weights).sum() / n)
    assert found["strength"] == pytest.approx(((p[:, None] + p) * apart**2).sum() / s.sum())


def test_one_level_has_the_largest_coarseness():
    found = ngtdm_features(np.ones((5, 5), int))
    assert found == {"coarseness": 1e6, "contrast": 0, "busyness": 0, "complexity": 0, "strength": 0}
