"""Arrays as radiographs: resampling in mm, normalization, sizes of a pixel, and what is refused."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydicom.valuerep import format_number_as_ds
from scipy.ndimage import gaussian_filter

from overread.errors import ImageError, InputTypeError, InvalidInputError
from overread.images import (
    GRID_MM,
    Radiograph,
    Resampler,
    SpacingSource,
    blur,
    choose_spacing,
    from_array,
    given_spacing,
    magnitude,
)
from overread.images._grid import axis_weights
from overread.images._spacing import FileSpacing, Spacing, file_spacing

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
    with pytest.raises(ImageError, match="more than the limit of 33,554,432"):
        from_array(np.eye(300), 5.0, grid_mm=0.01)


SIZES = st.floats(0.05, 1.0)


@given(SIZES, SIZES)
def test_rows_come_first_in_the_file_and_x_comes_first_here(x, y):
    text = f"{format_number_as_ds(y)}\\{format_number_as_ds(x)} "
    if max(x, y) > 4.9 * min(x, y):
        return
    spacing = file_spacing(text, "", "").spacing
    assert (spacing.x, spacing.y) == pytest.approx((x, y), rel=1e-12)


@pytest.mark.parametrize("factor", ["0", "0.5", "nan", "100", "-1", "1,1"])
def test_a_magnification_that_makes_no_sense(factor):
    stated = file_spacing("", "0.2\\0.2", factor)
    assert stated.spacing is None
    assert "EstimatedRadiographicMagnificationFactor" in stated.problem


def test_a_bad_first_choice_does_not_fall_through_to_the_second():
    assert file_spacing("0\\0", "0.2\\0.2", "").spacing is None


def test_an_empty_first_choice_does():
    assert file_spacing("", "0.2\\0.2", "").spacing.source is SpacingSource.IMAGER_PIXEL_SPACING


def test_file_and_user_must_agree():
    stated = FileSpacing(Spacing(0.2, 0.3, SpacingSource.PIXEL_SPACING))
    assert choose_spacing(stated, (0.2005, 0.3)).source is SpacingSource.PIXEL_SPACING
    with pytest.raises(ImageError, match=r"mm_per_px in y is given as 0.2, but PixelSpacing is 0.3"):
        choose_spacing(stated, 0.2)


@pytest.mark.parametrize("value", [0.2, np.float32(0.2), (0.2, 0.2), [0.2, 0.2], np.array([0.2, 0.2])])
def test_one_number_or_two(value):
    spacing = given_spacing(value)
    assert (spacing.x, spacing.y) == pytest.approx((0.2, 0.2))


WRONG = [None, "a", "0.143", "0,143", [[0.1, 0.2]], [0.1, None], {0.1}, [0.1, [0.2]], 1 + 0j, True]
IMPOSSIBLE = [0, -1, float("nan"), float("inf"), (0.1, 0.2, 0.3), (0.1, 9.0)]


@pytest.mark.parametrize("value", [*WRONG, *IMPOSSIBLE])
def test_what_is_no_size(value):
    with pytest.raises(InvalidInputError, match="mm_per_px"):
        given_spacing(value)


@pytest.mark.parametrize("sigma_px", [1.0, 2.5])
def test_the_blur_is_that_of_scipy_with_a_repeated_border(sigma_px):
    image = np.random.default_rng(0).random((40, 50)).astype(np.float32)
    expected = gaussian_filter(image, sigma_px, mode="nearest", truncate=4)
    np.testing.assert_allclose(blur(image, sigma_px), expected, atol=5e-4)


def test_the_magnitude_is_the_length_in_the_same_bits_wherever_arrays_lie():
    random = np.random.default_rng(0)
    x, y = random.normal(0, 0.01, (2, 141, 131)).astype(np.float32)
    first = magnitude(x, y)
    np.testing.assert_allclose(first, np.hypot(x, y), rtol=1e-6)
    held = []
    for size in random.integers(1, 200_000, 20):
        # What is held moves the arrays that come after it.
        held += [np.empty(size, dtype=np.uint8), magnitude(x.copy(), y.copy())]
        assert held[-1].ctypes.data % 64 == 0
        assert held[-1].tobytes() == first.tobytes()
