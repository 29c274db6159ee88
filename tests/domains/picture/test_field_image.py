"""Planes of grey and colour pictures, and the plane without its background."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from overread.domains import read_picture
from overread.errors import ImageError, InvalidInputError


@pytest.fixture
def eye(tmp_path):
    rng = np.random.default_rng(0)
    rgb = rng.integers(60, 200, (80, 120, 3), dtype=np.uint8)
    path = tmp_path / "eye.png"
    Image.fromarray(rgb).save(path)
    return path, rgb / np.float32(255)


def test_planes_of_colour(eye):
    path, rgb = eye
    field = read_picture(path, mm_per_px=0.1, region="all", weights=(0, 1, 0))
    assert np.allclose(field.planes["main"], rgb[..., 1], atol=1e-6)
    assert np.allclose(field.planes["red_green"], rgb[..., 0] - rgb[..., 1], atol=1e-6)
    assert np.allclose(field.planes["yellow_blue"], rgb[..., :2].mean(axis=2) - rgb[..., 2], atol=1e-6)


def test_luminance_without_weights(eye):
    path, rgb = eye
    field = read_picture(path, mm_per_px=0.1, region="all")
    assert np.allclose(field.planes["main"], rgb @ np.array([0.299, 0.587, 0.114]), atol=1e-6)


def test_a_grey_picture_has_one_plane(tmp_path):
    path = tmp_path / "grey.png"
    Image.fromarray(np.tile(np.arange(100, dtype=np.uint8), (50, 1))).save(path)
    field = read_picture(path, mm_per_px=(0.2, 0.1), region="all")
    assert list(field.planes) == ["main"]
    # Oblong pixels are made square by the finer side.
    assert field.planes["main"].shape == (50, 200)
    assert field.mm_per_px == 0.1


def test_flat_is_in_deviations_of_the_region(eye):
    field = read_picture(eye[0], mm_per_px=0.1, region="all", weights=(0, 1, 0))
    inside = field.flat[field.region]
    assert abs(np.median(inside)) < 0.1
    assert abs(np.median(np.abs(inside - np.median(inside))) - 1 / 1.4826) < 0.02


@pytest.mark.parametrize("weights", [(1, 1), (0, 0, 0), (float("nan"), 1, 1)])
def test_weights_that_make_no_plane(eye, weights):
    with pytest.raises(InvalidInputError, match="three finite numbers"):
        read_picture(eye[0], mm_per_px=0.1, region="all", weights=weights)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "eye.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(ImageError, match=r"eye\.png"):
        read_picture(path, mm_per_px=0.1)


def test_the_amount_of_a_stain_is_found_by_beer_and_lambert(tmp_path):
    stain = np.array([0.65, 0.70, 0.29])
    amounts = np.linspace(0.05, 0.9, 60).reshape(6, 10)
    rgb = 10 ** -(amounts[..., None] * stain)
    path = tmp_path / "stain.png"
    Image.fromarray(np.round(255 * rgb).astype(np.uint8)).save(path)
    field = read_picture(path, mm_per_px=1.0, region="all", stain=stain)
    # Within the step of 8 bits.
    np.testing.assert_allclose(field.planes["main"], amounts, atol=0.01)
    with pytest.raises(InvalidInputError, match="stain of red, green and blue"):
        read_picture(path, mm_per_px=1.0, region="all", stain=(0, 0, 0))


def test_pixels_to_look_at_are_colours_or_grey(tmp_path):
    rgb = np.random.default_rng(0).integers(0, 256, (9, 12, 3)).astype(np.uint8)
    path = tmp_path / "colour.png"
    Image.fromarray(rgb).save(path)
    colour = read_picture(path, mm_per_px=2.0, region="all")
    np.testing.assert_allclose(colour.pixels, rgb / 255, atol=1e-6)
    assert (colour.size_mm, colour.source_shape, colour.source_mm_per_px) == (
        (24.0, 18.0),
        (9, 12),
        (2.0, 2.0),
    )
    grey = read_picture(path, mm_per_px=2.0, region="all", colour=False)
    assert list(grey.planes) == ["main"]
    assert grey.pixels.shape == (9, 12)
    assert grey.pixel_hash == colour.pixel_hash
