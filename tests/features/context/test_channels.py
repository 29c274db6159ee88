"""Channels against scipy's filters; their levels and statistics against numpy."""

import numpy as np
import pytest
from feature_scenes import CENTRE, patch_of
from scipy import ndimage

from overread.features.context._channels import CHANNELS, N_BINS, QUANTIZED
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES


def low_pass(image, hole, axis):
    taps = np.zeros(4 * hole + 1)
    taps[::hole] = np.array([1, 4, 6, 4, 1]) / 16
    return ndimage.convolve1d(image, taps, axis=axis)


@pytest.fixture(scope="module")
def expected(texture):
    """Channels by name, filtered by scipy."""
    found, smooth = {"original": texture}, texture
    for level, hole in enumerate((1, 2, 4), start=1):
        along, across = low_pass(smooth, hole, 1), low_pass(smooth, hole, 0)
        coarse = low_pass(along, hole, 0)
        found[f"wavelet{level}_hl"], found[f"wavelet{level}_lh"] = across - coarse, along - coarse
        found[f"wavelet{level}_hh"] = smooth - along - across + coarse
        found[f"approximation{level}"] = smooth = coarse
    found["band4"] = smooth - low_pass(low_pass(smooth, 8, 0), 8, 1)
    first = found["approximation1"]
    found["gradient"] = np.hypot(*[np.gradient(first, axis=axis) for axis in (0, 1)])
    return {name: patch_of(found[name]) for name in CHANNELS}


@pytest.fixture(scope="module")
def channels(make_context, texture):
    return make_context(texture, *CENTRE).channels


@pytest.mark.parametrize("name", CHANNELS)
def test_statistics_are_those_of_the_filtered_image(channels, expected, name):
    row = dict(zip(FIRST_ORDER, channels.statistics[0, CHANNELS.index(name)], strict=True))
    image = expected[name]
    for statistic, value in (
        ("mean", image.mean()),
        ("minimum", image.min()),
        ("p90", np.percentile(image, 90)),
    ):
        assert row[statistic] == pytest.approx(value, abs=2e-6), statistic
    assert row["variance"] == pytest.approx(image.var(), rel=1e-3)
    percentiles = np.percentile(image, 100 * RANKED_SHARES)
    np.testing.assert_allclose(channels.percentiles[0, CHANNELS.index(name)], percentiles, atol=2e-6)


@pytest.mark.parametrize("name", QUANTIZED)
def test_levels_are_equal_bins_around_the_middle(channels, expected, name):
    image = expected[name]
    low, high = np.percentile(image, [10, 90])
    scaled = N_BINS * (image - low + (high - low) / 2) / (2 * (high - low))
    found = channels.levels[0, QUANTIZED.index(name)].astype(int)
    np.testing.assert_array_equal(found > 0, np.pad(np.ones((63, 63)), 1))
    level = 1 + np.clip(np.floor(scaled), 0, N_BINS - 1)
    # Rounding in float32 may move a value over the border of its bin.
    near = np.abs(scaled - np.round(scaled)) < 0.01
    np.testing.assert_array_equal(found[1:-1, 1:-1][~near], level[~near])
    assert near.mean() < 0.1


def test_flat_middle_takes_the_extremes(make_context):
    """P10 = P90: bins lie between the least and the greatest value; a constant has level 1."""
    pixels = np.zeros((200, 220))
    pixels[99, 109], pixels[100, 109] = 1.0, 0.5
    levels = make_context(pixels, *CENTRE).channels.levels[0, 0, 1:-1, 1:-1]
    assert (levels[31, 31], levels[32, 31], levels[0, 0]) == (N_BINS, N_BINS // 2 + 1, 1)
    assert set(make_context(0 * pixels, *CENTRE).channels.levels[0, 0, 1:-1, 1:-1].ravel()) == {1}
