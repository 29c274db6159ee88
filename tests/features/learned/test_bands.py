"""Bands: what counts in them, what does not, and where squares are cut."""

import numpy as np
import pytest

from overread.features._learned import RESOLUTIONS_MM, SIDE, cut_squares, make_bands

MM = 0.7


@pytest.fixture(scope="module")
def grey():
    y, x = np.mgrid[:300, :260]
    noise = np.random.default_rng(0).normal(0, 0.05, (300, 260))
    return (0.5 + 0.001 * x - 0.0005 * y + noise).astype(np.float32)


def test_brightness_and_contrast_do_not_count(grey):
    for band, other in zip(make_bands(grey, MM), make_bands(3.0 * grey - 1.0, MM), strict=True):
        np.testing.assert_allclose(band.values, other.values, rtol=0.06, atol=1e-3)


def test_bands_have_no_trend(grey):
    for band in make_bands(grey, MM):
        assert abs(band.values[10:-10, 10:-10].mean()) < 0.1


def test_bands_have_unit_deviation():
    noise = np.random.default_rng(1).normal(0.5, 0.1, (300, 260)).astype(np.float32)
    assert [band.values.std() for band in make_bands(noise, MM)] == pytest.approx([1.0, 1.0, 1.0], abs=0.08)


def test_a_constant_image_is_nothing():
    assert all(
        np.abs(band.values).max() < 1e-3 for band in make_bands(np.full((90, 80), 0.3, np.float32), MM)
    )


@pytest.mark.parametrize(
    ("mm", "place"), [(0.7, (100.0, 120.0)), (0.7, (100.25, 119.5)), (0.5, (130.0, 150.0))]
)
def test_a_spot_lies_in_the_middle_of_every_square(mm, place):
    column, row = place
    y, x = np.mgrid[:300, :260]
    spot = np.exp(-((x - column) ** 2 + (y - row) ** 2) * mm**2 / (2 * 5.0**2)).astype(np.float32)
    squares = cut_squares(make_bands(spot, mm), np.array([column]), np.array([row]))
    axis = np.arange(SIDE) - (SIDE - 1) / 2
    for square, resolution in zip(squares[0], RESOLUTIONS_MM, strict=True):
        weight = np.maximum(square, 0.0) ** 2
        centre = np.array([(weight.sum(axis=k) * axis).sum() for k in (0, 1)]) / weight.sum()
        assert np.abs(centre).max() * resolution < 0.25


def test_a_mirrored_image_gives_mirrored_squares(grey):
    column, row = np.array([40.0, 200.3]), np.array([100.0, 250.6])
    squares = cut_squares(make_bands(grey[:, :256], MM), column, row)
    mirrored = cut_squares(make_bands(np.ascontiguousarray(grey[:, 255::-1]), MM), 255.0 - column, row)
    np.testing.assert_allclose(mirrored, squares[..., ::-1], atol=2e-3)


def test_squares_at_a_corner_repeat_the_border(grey):
    bands = make_bands(grey, MM)
    squares = cut_squares(bands, np.array([-0.5]), np.array([-0.5]))
    assert np.isfinite(squares).all()
    np.testing.assert_array_equal(
        squares[0, :, :13, :13], np.broadcast_to(squares[0, :, :1, :1], (3, 13, 13))
    )


def test_tiny_images_have_bands():
    assert all(np.isfinite(band.values).all() for band in make_bands(np.eye(2, dtype=np.float32), MM))
