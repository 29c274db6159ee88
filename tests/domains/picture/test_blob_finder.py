"""Planted blobs are found at their place and size; lines are not; nothing lies on another."""

import numpy as np
import pytest

from overread.domains import BlobFinder, radii_from_marks
from overread.domains.picture._finder import APART_SHARE, measure_curvatures
from overread.errors import InvalidInputError
from planted_field import BLOBS, MM_PER_PX, make_field

SOUGHT = {"smallest": 0.3, "largest": 1.2}


@pytest.mark.parametrize(
    ("polarity", "sign"), [("bright", 1.0), ("dark", -1.0), ("both", 1.0), ("both", -1.0)]
)
def test_planted_blobs_come_first(polarity, sign):
    found = BlobFinder(polarity, **SOUGHT)(make_field(sign), limit=len(BLOBS))
    for column, row, radius in BLOBS:
        distance = np.hypot(found["x"] - (column + 0.5) * MM_PER_PX, found["y"] - (row + 0.5) * MM_PER_PX)
        nearest = found.iloc[int(distance.argmin())]
        assert distance.min() <= 0.2
        assert 1 / 1.6 < nearest["radius"] / (radius * MM_PER_PX) < 1.6


def test_the_other_polarity_sees_none_of_them():
    """Around a disc there is a dark rim; in its middle noise, of less than a tenth of the disc's curvature."""
    field = make_field(1.0)
    for sigma in (2.0, 3.0, 5.0):
        bright, dark = (measure_curvatures(field.flat, sigma, sign)[0] for sign in (-1.0, 1.0))
        for column, row, _ in BLOBS:
            middle = np.s_[row - 2 : row + 3, column - 2 : column + 3]
            assert dark[middle].max() < 0.1 * bright.max()


def test_a_line_is_no_blob():
    """Away from its ends a line answers with less than a tenth of what a disc does."""
    field = make_field(1.0)
    small, large = measure_curvatures(field.flat, 3.0, -1.0)
    on_line = small[40:180, 218:223].max()
    assert on_line < 0.1 * small[60, 60]
    assert large[40:180, 220].min() > 0.5 * large[60, 60]


def test_no_two_lie_on_each_other_and_responses_fall():
    found = BlobFinder("both", **SOUGHT)(make_field(1.0), limit=80)
    assert (np.diff(found["response"]) <= 0).all()
    x, y, radius = (found[name].to_numpy() for name in ("x", "y", "radius"))
    distance = np.hypot(x[:, None] - x, y[:, None] - y)
    np.fill_diagonal(distance, np.inf)
    assert (distance >= APART_SHARE * np.maximum(radius[:, None], radius) - 2e-3).all()
    assert len(found) <= 80


def test_outside_the_region_nothing_is_found():
    field = make_field(1.0)
    field.region[:, :130] = False
    found = BlobFinder("bright", **SOUGHT)(field, limit=50)
    assert (found["x"] >= 130 * MM_PER_PX).all()


def test_a_flat_picture_has_no_candidates():
    field = make_field(1.0)
    field.planes["main"][:] = 0.5
    assert BlobFinder("both", **SOUGHT)(field, limit=50).empty


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"polarity": "grey"}, "use bright, dark or both"),
        ({"smallest": 3.0, "largest": 1.0}, "not below it"),
    ],
)
def test_what_cannot_be_sought(options, message):
    with pytest.raises(InvalidInputError, match=message):
        BlobFinder(**options)


def test_radii_are_those_of_the_smaller_marks():
    assert radii_from_marks(np.arange(0.0, 101.0)) == (10.0, 50.0)
