"""Zones against scipy's labels."""

import numpy as np
import pytest
from feature_scenes import region
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from overread.features import glszm_features, quantize


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
