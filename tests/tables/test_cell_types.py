"""Cells are what their type says, or their places are told."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.tables import parse_number, quote_cell
from overread.tables._cells import as_series, parse_column


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_python_reads_it(value):
    assert parse_number(repr(value)) == value
    assert parse_number(f" {value!r} ") == value


@pytest.mark.parametrize(
    "cell", ["1,5", "1e999", "0x10", "1_000", "five", "1 mm", "\u0661", "- 1", "1.2.3", "."]
)
def test_what_python_or_a_person_might_take_for_a_number_is_refused(cell):
    with pytest.raises(ValueError):
        parse_number(cell)


@pytest.mark.parametrize("cell", ["", " ", "nan", "NaN"])
def test_an_empty_cell_is_no_number(cell):
    assert math.isnan(parse_number(cell))


@pytest.mark.parametrize(
    ("type_", "cells", "values", "bad"),
    [
        ("id", ["a", "", "'=1"], ["a", "", "=1"], [1]),
        ("text", ["a", "", "'=1"], ["a", "", "=1"], []),
        ("any", ["5", ""], ["5", ""], []),
        ("count", ["7", "-2", "1.5", "", "1e3"], [7, -2, 0, 0, 0], [2, 3, 4]),
        ("flag", ["true", "FALSE", "1", "0", "yes"], [True, False, True, False, False], [4]),
        ("ids", ['["a", "b"]', "[]", "a", "[1]", '{"a": 1}'], [("a", "b"), (), (), (), ()], [2, 3, 4]),
        ("number", ["1.5", "x"], [1.5, math.nan], [1]),
    ],
)
def test_columns_of_each_type(type_, cells, values, bad):
    found, places = parse_column(cells, type_)
    assert places == bad
    assert repr(found) == repr(values)
    assert len(as_series(found, type_)) == len(cells)


def test_deep_nesting_is_a_bad_cell_and_no_crash():
    assert parse_column(["[" * 100_000], "ids") == ([()], [0])


def test_a_long_cell_is_shortened_for_a_message():
    assert quote_cell("a'b") == '"a\'b"'
    assert quote_cell("x" * 40) == repr("x" * 40)
    assert quote_cell("x" * 41) == repr("x" * 30) + "... (41 characters)"
