"""Finders by name: ours, and those of other packages."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from overread.domains import BlobFinder, candidate_table, list_finders, load_finder
from overread.domains import _finders as finders
from overread.errors import UsageError
from planted_field import make_field

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
    with pytest.raises(UsageError, match="calls itself 'middle'"):
        load_finder("false", "picture", **SOUGHT)


def test_an_unknown_finder_is_refused_with_those_that_there_are():
    with pytest.raises(UsageError, match="no candidate finder 'dots'; there are blobs"):
        load_finder("dots", "picture", **SOUGHT)
