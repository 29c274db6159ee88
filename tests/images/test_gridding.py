"""Arrays as radiographs: normalization and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import ImageError, InputTypeError, InvalidInputError
from overread.images import GRID_MM, Radiograph, SpacingSource, from_array

NOISE = np.random.default_rng(0).normal(1000, 100, (90, 70))


def test_percentiles_become_0_and_1():
    image = from_array(NOISE, 0.7)
    assert isinstance(image, Radiograph)
    assert image.pixels.dtype == np.float32
    assert image.mm_per_px == GRID_MM
    assert image.spacing_source is SpacingSource.GIVEN
    low, high = np.percentile(NOISE, [1, 99])
    np.testing.assert_allclose(image.pixels, (NOISE - low) / (high - low), atol=1e-5)


@settings(max_examples=30)
@given(st.floats(0.01, 100), st.floats(-1e4, 1e4))
def test_brightness_and_contrast_do_not_matter(slope, offset):
    np.testing.assert_allclose(
        from_array(NOISE * slope + offset, 0.5).pixels, from_array(NOISE, 0.5).pixels, atol=3e-3
    )


@pytest.mark.parametrize("dtype", ["u1", "i2", ">u2", "<u4", "f4", "f8", "f2", "?"])
def test_every_kind_of_number(dtype):
    pixels = (np.indices((40, 40)).sum(axis=0) % 2 if dtype == "?" else np.indices((40, 40))[0]).astype(dtype)
    np.testing.assert_allclose(
        from_array(pixels, 0.5).pixels, from_array(pixels.astype(float), 0.5).pixels, atol=1e-6
    )


def test_memory_layout_does_not_matter():
    image = from_array(NOISE, 0.4).pixels.tobytes()
    assert from_array(np.asfortranarray(NOISE), 0.4).pixels.tobytes() == image
    assert from_array(np.repeat(NOISE, 2, axis=1)[:, ::2], 0.4).pixels.tobytes() == image


def test_invalid_pixels_may_be_anything_and_become_0():
    valid = np.ones(NOISE.shape, bool)
    valid[:, :30] = False
    image = from_array(np.where(valid, NOISE, np.nan), 0.7, valid=valid)
    assert (image.pixels[:, :30] == 0).all()
    np.testing.assert_array_equal(image.pixels[:, 30:], from_array(NOISE[:, 30:], 0.7).pixels)


def test_a_few_bright_pixels_on_a_constant_go_by_the_extremes():
    pixels = np.zeros((100, 100))
    pixels[50, 50] = 4
    image = from_array(pixels, 0.7)
    assert image.pixels.max() == 1
    assert image.pixels.min() == 0


@pytest.mark.parametrize("value", [0.0, 7.0, 1e6, -3.25])
@pytest.mark.parametrize("mm_per_px", [0.2, 0.7, 0.9])
def test_a_constant_is_refused(value, mm_per_px):
    with pytest.raises(ImageError, match="same value"):
        from_array(np.full((50, 60), value), mm_per_px)


@pytest.mark.parametrize(
    ("pixels", "error"),
    [
        (np.full((4, 4), np.nan), InvalidInputError),
        (np.array([[1.0, np.inf]]), InvalidInputError),
        (np.array([[1.0, 1e300]]), InvalidInputError),
        (np.zeros((2, 2, 3)), InvalidInputError),
        (np.zeros((0, 5)), ImageError),
        (np.array([["a"]]), InputTypeError),
        (np.array([[1j]]), InputTypeError),
    ],
)
def test_what_is_no_image(pixels, error):
    with pytest.raises(error):
        from_array(pixels, 0.5)


@pytest.mark.parametrize("grid", [0, -0.7, float("nan"), float("inf"), "0.7", None, 100])
def test_what_is_no_grid(grid):
    with pytest.raises(InvalidInputError, match="grid_mm"):
        from_array(NOISE, 0.5, grid_mm=grid)


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(InvalidInputError, match="valid"):
        from_array(NOISE, 0.5, valid=np.ones((3, 3), bool))
    with pytest.raises(InvalidInputError, match="valid"):
        from_array(NOISE, 0.5, valid=np.ones(NOISE.shape))


def test_the_input_is_left_alone():
    kept = NOISE.copy()
    from_array(NOISE, 0.5)
    np.testing.assert_array_equal(NOISE, kept)
