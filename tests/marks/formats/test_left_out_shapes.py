"""What is left out is counted by kind and named with the option that takes it."""

from __future__ import annotations

import warnings

import pytest

from overread.errors import DataWarning
from overread.marks.formats.left_out_shapes import ShapeCounter


def test_counts_and_options():
    counter = ShapeCounter("f.xml")
    for kind in ("box", "box", "polygon", "mask"):
        counter.leave_out(kind)
    counter.leave_out_reading()
    counter.note("tasks without annotations")
    words = (
        r"f.xml: left out: 2 boxes \(count with --boxes\), 1 polygon \(become ellipses with --polygons ellipse\), "
        r"1 mask, 1 readings that hold nothing else, 1 tasks without annotations"
    )
    with pytest.warns(DataWarning, match=words):
        counter.warn()


def test_nothing_left_out_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ShapeCounter("f.xml").warn()
