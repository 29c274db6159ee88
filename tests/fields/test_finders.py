"""Finders by name: ours, and those of other packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from overread.domains import BlobFinder, candidate_table, list_field_finders
from overread.domains.picture import _finder as finders
from overread.domains.picture._finder import load_field_finder
from overread.errors import UsageError
from planted_field import make_field

SOUGHT = {"polarity": "bright", "smallest_mm": 0.4, "largest_mm": 1.0}


class Middle:
    """Finds the middle of a picture."""

    name, version = "middle", "7"

    def __init__(self, polarity, smallest_mm, largest_mm):
        self.radius = largest_mm

    def __call__(self, field, *, limit):
        width, height = field.size_mm
        one = np.ones(1)
        return candidate_table(one * width / 2, one * height / 2, one * self.radius, one)[:limit]


class Liar(Middle):
    """Calls itself by another name."""


@pytest.fixture
def others(monkeypatch):
    entries = [EntryPoint(name, f"test_finders:{kind}", finders.FIELD_FINDERS) for name, kind in OTHERS]
    monkeypatch.setattr(
        finders, "entry_points", lambda group: entries if group == finders.FIELD_FINDERS else []
    )
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.attr])


OTHERS = (("middle", "Middle"), ("false", "Liar"))


def test_ours_has_its_options():
    finder = load_field_finder("blobs", **SOUGHT)
    assert finder == BlobFinder("bright", 0.4, 1.0)
    assert list_field_finders()[0] == "blobs"


@pytest.mark.usefixtures("others")
def test_another_package_s_finder_is_made_with_the_same_options():
    assert list_field_finders() == ["blobs", "false", "middle"]
    found = load_field_finder("middle", **SOUGHT)(make_field(), limit=5)
    assert found[["x_mm", "y_mm", "radius_mm"]].to_numpy().tolist() == [[13.0, 11.0, 1.0]]


@pytest.mark.usefixtures("others")
def test_a_finder_that_calls_itself_otherwise_is_refused():
    with pytest.raises(UsageError, match="calls itself 'middle'"):
        load_field_finder("false", **SOUGHT)


def test_an_unknown_finder_is_refused_with_those_that_there_are():
    with pytest.raises(UsageError, match="no finder 'dots' of pictures; there are blobs"):
        load_field_finder("dots", **SOUGHT)
