"""Resampling keeps positions in mm, means and constants; the area filter against exact integration."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import ImageError
from overread.images import Resampler, from_array
from overread.images._grid import axis_weights

SPACINGS = [(0.143, 0.143), (0.684, 0.835), (0.2, 0.5), (1.3, 0.9), (0.7, 0.7), (0.6999, 0.7001)]


def disc(mm_per_px, *, centre=(61.37, 71.93), radius=20.0, size=(130.0, 140.0)):
    """Share of each pixel inside a disc, by 4 x 4 points."""
    columns, rows = (int(s / m) for s, m in zip(size, mm_per_px, strict=True))
    x = (np.arange(columns * 4) + 0.5) * mm_per_px[0] / 4
    y = (np.arange(rows * 4) + 0.5) * mm_per_px[1] / 4
    inside = np.hypot(x[None, :] - centre[0], y[:, None] - centre[1]) < radius
    return inside.reshape(rows, 4, columns, 4).mean(axis=(1, 3))


@pytest.mark.parametrize("mm_per_px", SPACINGS)
def test_a_disc_stays_where_it_is_in_mm(mm_per_px):
    image = from_array(disc(mm_per_px), mm_per_px)
    weight = image.pixels.astype(float)
    y, x = np.indices(image.shape)
    found = [((index * weight).sum() / weight.sum() + 0.5) * image.mm_per_px for index in (x, y)]
    assert found == pytest.approx([61.37, 71.93], abs=0.05 * image.mm_per_px)
    assert weight.sum() * 0.7**2 == pytest.approx(np.pi * 20**2, rel=2e-3)


@pytest.mark.parametrize("mm_per_px", SPACINGS)
def test_the_grid_covers_the_image_to_half_a_pixel(mm_per_px):
    array = disc(mm_per_px)
    image = from_array(array, mm_per_px)
    extent = np.array(array.shape[::-1]) * mm_per_px
    assert np.abs(np.array(image.size_mm) - extent).max() <= 0.35 + 1e-9
    assert image.valid.all()
    assert image.source_shape == array.shape


def test_a_whole_factor_is_the_mean_of_blocks():
    blocks = np.random.default_rng(1).normal(size=(60, 80)).astype(np.float32)
    shrunk = Resampler((60, 80), (0.35, 0.175), 0.7)(blocks)
    np.testing.assert_allclose(shrunk, blocks.reshape(15, 4, 40, 2).mean(axis=(1, 3)), atol=1e-6)


def test_shrinking_agrees_with_opencv():
    values = np.random.default_rng(2).normal(size=(117, 143)).astype(np.float32)
    rows, columns = 39, 52
    mm = (columns / 143, rows / 117)
    ours = Resampler(values.shape, mm, 1.0)(values)
    theirs = cv2.resize(values, (columns, rows), interpolation=cv2.INTER_AREA)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@settings(max_examples=60)
@given(st.integers(1, 40), st.floats(0.2, 5.0))
def test_area_weights_are_the_overlaps(n_source, scale):
    n_target = max(1, round(n_source / scale))
    weights = axis_weights(n_source, n_target, scale).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    if scale >= 1.0:
        for j, row in enumerate(weights):
            low, high = j * scale, min((j + 1) * scale, n_source)
            share = [max(0.0, min(high, i + 1) - max(low, i)) / (high - low) for i in range(n_source)]
            np.testing.assert_allclose(row, share, atol=1e-6)


def test_enlarging_keeps_a_ramp_and_its_position():
    ramp = np.arange(50, dtype=np.float32)
    weights = axis_weights(50, 119, 50 / 119)
    expected = (np.arange(119) + 0.5) * 50 / 119 - 0.5
    np.testing.assert_allclose((weights @ ramp)[6:-6], expected[6:-6], atol=1e-4)


def test_a_pattern_too_fine_for_the_grid_vanishes():
    stripes = np.tile(np.arange(800) % 2, (100, 1)).astype(np.float32)
    result = Resampler((100, 800), (0.1, 0.1), 0.73)(stripes)
    assert np.abs(result - 0.5).max() < 0.08


def test_masked_pixels_have_no_influence():
    random = np.random.default_rng(3)
    values = random.normal(size=(50, 50)).astype(np.float32)
    valid = random.random((50, 50)) > 0.2
    resample = Resampler((50, 50), (0.3, 0.3), 0.7)
    first, reached = resample.resample_masked(values, valid)
    second, again = resample.resample_masked(np.where(valid, values, np.float32(1e6)), valid)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(reached, again)
    with pytest.raises(ImageError, match="padding"):
        resample.resample_masked(values, np.zeros((50, 50), bool))


def test_an_enlargement_beyond_the_cap_is_refused():
    with pytest.raises(ImageError, match="cap"):
        from_array(np.eye(300), 5.0, grid_mm=0.01)
