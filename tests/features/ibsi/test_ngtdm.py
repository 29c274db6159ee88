"""Tone differences against their formulas."""

import numpy as np
import pytest
from feature_scenes import region
from scipy import ndimage

from overread.features import ngtdm_features, quantize


@pytest.mark.parametrize("seed", range(4))
def test_equals_the_formulas(seed):
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
