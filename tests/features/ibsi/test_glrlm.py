"""Runs against brute force and closed forms."""

import numpy as np
import pytest
from feature_scenes import region
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.features import glrlm_features, quantize


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


def test_stripes():
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
