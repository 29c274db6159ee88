"""Dependences against brute force."""

import numpy as np
import pytest
from feature_scenes import region

from overread.features import ngldm_features, quantize


@pytest.mark.parametrize("seed", range(4))
def test_equals_brute_force(seed):
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
