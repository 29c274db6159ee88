"""Cells are what their type says, or their places are told."""

import csv
import io
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.errors import TableError
from overread.tables import (
    csv_text,
    decode_csv,
    guard_formula,
    parse_cells,
    parse_number,
    quote_cell,
    read_cells,
    unguard_formula,
)
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


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.text())
@settings(deadline=None, max_examples=200, derandomize=True)
def test_guarding_against_formulas_is_reversible(text):
    assert unguard_formula(guard_formula(text)) == text
    assert not guard_formula(text).startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.lists(st.lists(texts, min_size=2, max_size=2), min_size=1, max_size=5))
@settings(deadline=None, derandomize=True)
def test_what_is_written_is_what_the_standard_library_reads(rows):
    text = csv_text([["a", "b"], *rows])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["a", "b"], *rows]
    assert parse_cells(text, "f").rows == rows


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("plain", "plain"),
        ("a,b", '"a,b"'),
        ('say "x"', '"say ""x"""'),
        (" x", '" x"'),
        ("a\nb", '"a\nb"'),
        ("", ""),
    ],
)
def test_cells_get_quotes_only_where_they_need_them(cell, written):
    assert csv_text([[cell, "z"]]) == f"{written},z\n"


@pytest.mark.parametrize(
    ("cell", "guarded"), [("=1", "'=1"), ("'=1", "''=1"), ("'x", "'x"), ("-5", "'-5"), ("x=1", "x=1")]
)
def test_only_what_a_spreadsheet_would_run_is_guarded(cell, guarded):
    assert guard_formula(cell) == guarded


@pytest.mark.parametrize(
    ("raw", "words"),
    [(b"", "empty"), (b" \n", "empty"), (b"\xff\xfea\0", "UTF-16"), (b"a\nb\n\xe9\n", "row 3: not UTF-8")],
)
def test_what_is_no_text_is_named_with_its_row(raw, words):
    with pytest.raises(TableError, match=words):
        decode_csv(raw, "f")


def test_a_byte_order_mark_and_empty_last_lines_are_no_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n\n\n")
    assert read_cells(path).header == ["a", "b"]
    assert read_cells(path).rows == [["1", "2"]]
    with pytest.raises(TableError, match="cannot be read: No such file"):
        read_cells(tmp_path / "absent.csv")
