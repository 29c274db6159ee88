"""Blobs are found at their place and size; finders of other packages by their names."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from overread.domains import BlobFinder, candidate_table, list_finders, load_finder, radii_from_marks
from overread.domains import _finders as finders
from overread.domains.picture._finder import APART_SHARE, measure_curvatures
from overread.errors import InvalidInputError, UsageError
from planted_field import BLOBS, MM_PER_PX, make_field

RADII = {"smallest": 0.3, "largest": 1.2}


@pytest.mark.parametrize(
    ("polarity", "sign"), [("bright", 1.0), ("dark", -1.0), ("both", 1.0), ("both", -1.0)]
)
def test_planted_blobs_come_first(polarity, sign):
    found = BlobFinder(polarity, **RADII)(make_field(sign), limit=len(BLOBS))
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
    found = BlobFinder("both", **RADII)(make_field(1.0), limit=80)
    assert (np.diff(found["response"]) <= 0).all()
    x, y, radius = (found[name].to_numpy() for name in ("x", "y", "radius"))
    distance = np.hypot(x[:, None] - x, y[:, None] - y)
    np.fill_diagonal(distance, np.inf)
    assert (distance >= APART_SHARE * np.maximum(radius[:, None], radius) - 2e-3).all()
    assert len(found) <= 80


def test_outside_the_region_nothing_is_found():
    field = make_field(1.0)
    field.region[:, :130] = False
    found = BlobFinder("bright", **RADII)(field, limit=50)
    assert (found["x"] >= 130 * MM_PER_PX).all()


def test_a_flat_picture_has_no_candidates():
    field = make_field(1.0)
    field.planes["main"][:] = 0.5
    assert BlobFinder("both", **RADII)(field, limit=50).empty


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


SOUGHT = {"polarity": "bright", "smallest": 0.4, "largest": 1.0}


class Middle:
    """Finds the middle of a picture."""

    name, version = "middle", "7"

    def __init__(self, polarity, smallest, largest):
        self.radius = largest

    def __call__(self, field, regions, *, limit):
        width, height = field.size_mm
        one = np.ones(1)
        return candidate_table(one * width / 2, one * height / 2, one * self.radius, one)[:limit]


class Liar(Middle):
    """Calls itself by another name."""


@pytest.fixture
def others(monkeypatch):
    entries = [EntryPoint(name, f"test_finders:{kind}", "overread.finders.picture") for name, kind in OTHERS]
    monkeypatch.setattr(
        finders, "entry_points", lambda group: entries if group == "overread.finders.picture" else []
    )
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])


OTHERS = (("middle", "Middle"), ("false", "Liar"))


def test_ours_has_its_options():
    finder = load_finder("blobs", "picture", **SOUGHT)
    assert finder == BlobFinder("bright", 0.4, 1.0)
    assert list_finders("picture")[0] == "blobs"


@pytest.mark.usefixtures("others")
def test_another_package_s_finder_is_made_with_the_same_options():
    assert list_finders("picture") == ["blobs", "false", "middle"]
    found = load_finder("middle", "picture", **SOUGHT)(make_field(), None, limit=5)
    assert found[["x", "y", "radius"]].to_numpy().tolist() == [[13.0, 11.0, 1.0]]


@pytest.mark.usefixtures("others")
def test_a_finder_that_calls_itself_otherwise_is_refused():
    with pytest.raises(UsageError, match="has a finder named 'middle'"):
        load_finder("false", "picture", **SOUGHT)


def test_an_unknown_finder_is_refused_with_those_that_there_are():
    with pytest.raises(UsageError, match="no candidate finder 'dots'; there are blobs"):
        load_finder("dots", "picture", **SOUGHT)
