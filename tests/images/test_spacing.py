"""Size of a pixel: which source counts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.valuerep import format_number_as_ds

from overread.errors import ImageError, InvalidInputError
from overread.images import SpacingSource, choose_spacing, given_spacing
from overread.images._spacing import FileSpacing, Spacing, file_spacing

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
    with pytest.raises(ImageError, match=r"mm_per_px in y is given as 0.2, but PixelSpacing says 0.3"):
        choose_spacing(stated, 0.2)


@pytest.mark.parametrize("value", [0.2, np.float32(0.2), (0.2, 0.2), [0.2, 0.2], np.array([0.2, 0.2])])
def test_one_number_or_two(value):
    spacing = given_spacing(value)
    assert (spacing.x, spacing.y) == pytest.approx((0.2, 0.2))


@pytest.mark.parametrize("value", [None, "a", [[0.1, 0.2]], [0.1, None], {0.1}, [0.1, [0.2]], 1 + 0j])
def test_what_is_no_number(value):
    with pytest.raises(InvalidInputError, match="mm_per_px"):
        given_spacing(value)
