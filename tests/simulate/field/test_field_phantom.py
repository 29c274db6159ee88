"""The field: round, lit unevenly, with one bright disc and vessels that are dark above all in green."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from overread.domains.picture._image import find_region
from overread.errors import InvalidInputError
from overread.simulate import PicturePhantom, picture_phantom
from overread.simulate.picture._phantom import develop


@pytest.fixture(scope="module")
def phantom() -> PicturePhantom:
    return picture_phantom(seed=5)


def test_a_seed_gives_a_field(phantom):
    again, other = picture_phantom(seed=5), picture_phantom(seed=6)
    np.testing.assert_array_equal(develop(phantom, phantom.light), develop(again, again.light))
    assert not np.array_equal(phantom.light, other.light)
    assert str(phantom.seed) in repr(phantom)


def test_outside_the_field_it_is_black(phantom):
    picture = develop(phantom, phantom.light)
    outside = ~cv2.dilate(phantom.field.astype(np.uint8), np.ones((7, 7))).astype(bool)
    assert picture[outside].max() <= 2
    assert np.median(picture[phantom.field], axis=0)[0] > 60


def test_the_finder_of_fields_finds_it(phantom):
    """The region of `overread.domains` and the mask that was drawn agree but for the thin edge it leaves out."""
    picture = develop(phantom, phantom.light)
    found = find_region(picture.mean(axis=2, dtype=np.float32) / 255, "field_of_view")
    overlap = (found & phantom.field).sum() / (found | phantom.field).sum()
    assert overlap > 0.95


def test_vessels_take_green_more_than_red(phantom):
    near = cv2.dilate(phantom.vessels.astype(np.uint8), np.ones((9, 9))).astype(bool)
    ground = near & ~phantom.vessels & phantom.field & ~phantom.disc
    blood = phantom.vessels & phantom.field & ~phantom.disc
    ratio = phantom.light[blood].mean(axis=0) / phantom.light[ground].mean(axis=0)
    assert ratio[1] < ratio[0] < 1
    assert ratio[1] < 0.95


def test_the_disc_is_the_brightest_large_area(phantom):
    wide = cv2.GaussianBlur(phantom.light[..., 1], (0, 0), 12)
    row, column = np.unravel_index(wide.argmax(), wide.shape)
    assert phantom.disc[row, column]
    assert phantom.disc.sum() < 0.05 * phantom.field.sum()


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"seed": 1, "shape": (63, 100)}])
def test_senseless_fields_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="64 rows"):
        picture_phantom(**wrong)
