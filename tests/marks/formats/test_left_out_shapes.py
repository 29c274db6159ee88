"""What is left out is counted by kind and named with the option that takes it."""

import math
import warnings

import pytest

from overread.errors import DataWarning
from overread.marks import MarkSetBuilder
from overread.marks.formats._builder import ShapeCounter


def test_counts_and_options():
    counter = ShapeCounter(MarkSetBuilder("f.xml"))
    assert counter.leave_out(("box", "box", "polygon"), "i", "A", all_shapes=3)
    assert not counter.leave_out(("mask",), "i", "A", all_shapes=2)
    assert not counter.leave_out((), "j", "A", all_shapes=0)
    counter.notes["tasks without annotations"] += 1
    words = (
        r"f.xml: left out: 2 boxes \(count with --boxes\), 1 polygon \(become ellipses with --polygons ellipse\), "
        r"1 mask, 1 readings that hold nothing else, 1 tasks without annotations"
    )
    with pytest.warns(DataWarning, match=words):
        counter.warn()
    assert counter.builder.left_out == {("i", "A")}


@pytest.mark.parametrize(
    ("value", "number"), [("80", 80.0), ("0.8", 0.8), (4, 4.0), ("", math.nan), (None, math.nan)]
)
def test_confidence_is_the_attribute_of_that_name_as_it_stands(value, number):
    counter = ShapeCounter(MarkSetBuilder("f.xml"))
    found = counter.confidence({"kind": "5", " Confidence": value})
    assert found == pytest.approx(number, nan_ok=True)
    assert not counter.notes


@pytest.mark.parametrize("value", ["high", "nan", "80 %", True, [1, 2], {"1": True}])
def test_a_confidence_that_is_not_a_number_is_counted(value):
    counter = ShapeCounter(MarkSetBuilder("f.xml"))
    assert math.isnan(counter.confidence({"certainty": value}))
    assert list(counter.notes.values()) == [1]


def test_nothing_left_out_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ShapeCounter(MarkSetBuilder("f.xml")).warn()
