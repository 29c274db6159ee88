"""Every public record with arrays or tables prints as one line, and as a small table in a notebook."""

import importlib
import pkgutil
import re
from dataclasses import dataclass, fields, is_dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import overread
from overread._text import LONGEST_LINE, brief, short_repr

ARRAYS_AND_TABLES = re.compile(
    r"\b(NDArray|ArrayLike|DataFrame|Floats|Ints|Bools|FloatArray|IndexArray|Mask|Map)\b"
)

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=200),
    st.integers(0, 500).map(np.zeros),
    st.tuples(st.integers(0, 50), st.integers(1, 9)).map(lambda shape: pd.DataFrame(np.zeros(shape))),
    st.lists(st.floats(), max_size=60),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=9),
    st.lists(st.text(max_size=90), max_size=5).map(tuple),
)


@short_repr()
@dataclass
class Anything:
    first: Any
    second: Any
    third: Any


@short_repr("total", "numbers")
@dataclass(frozen=True, slots=True)
class Chosen:
    numbers: Any
    hidden: Any

    @property
    def total(self) -> float:
        return float(np.sum(self.numbers))


class Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(values, values, values)
def test_a_line_is_one_short_line_whatever_it_tells_of(first: Any, second: Any, third: Any) -> None:
    line = repr(Anything(first, second, third))
    assert len(line) <= LONGEST_LINE
    assert line.isprintable()
    assert line.startswith("Anything(")
    assert line.endswith(")")


@given(values)
def test_the_html_is_whole_and_escaped(value: Any) -> None:
    parser = Balance()
    parser.feed(Anything(value, "<script>", value)._repr_html_())
    assert parser.open == []
    assert "<script>" not in Anything(value, "<script>", value)._repr_html_()


def test_chosen_facts_come_in_their_order() -> None:
    assert repr(Chosen([1.0, 2.0], None)) == "Chosen(total=3, numbers=[1, 2])"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.zeros((3, 4)), "<3 x 4>"),
        (pd.DataFrame({"a": [1, 2]}), "<2 rows>"),
        (pd.Series([1, 2]), "<2>"),
        (0.123456, "0.1235"),
        (list(range(100)), "<100 of them>"),
        ({"a": 1}, "<1 of them>"),
        ((0.5, 1.0), "(0.5, 1)"),
        ("two\nlines", "'two lines'"),
    ],
)
def test_brief(value: Any, told: str) -> None:
    assert brief(value) == told


def exported_records() -> list[type]:
    """Public dataclasses, and those that public functions and methods say they return."""
    packages = [found.name for found in pkgutil.walk_packages(overread.__path__, "overread.") if found.ispkg]
    known = {
        name: getattr(module, name)
        for module in map(importlib.import_module, reversed(packages))
        for name in getattr(module, "__all__", [])
    }
    public = [getattr(overread, name) for name in overread.__all__]
    callables = [
        *public,
        *(method for value in public if isinstance(value, type) for method in vars(value).values()),
    ]
    words = {word for value in callables for word in re.findall(r"\w+", return_annotation(value))}
    candidates = [*public, *(known[word] for word in sorted(words & known.keys()))]
    return list({value: None for value in candidates if isinstance(value, type) and is_dataclass(value)})


def return_annotation(value: Any) -> str:
    return str(getattr(value, "__annotations__", {}).get("return", ""))


def test_every_exported_record_with_arrays_or_tables_does_it() -> None:
    holders = [
        record
        for record in exported_records()
        if any(ARRAYS_AND_TABLES.search(str(field.type)) for field in fields(record))
    ]
    assert len(holders) > 15
    assert [record.__name__ for record in holders if not hasattr(record, "_repr_html_")] == []


def test_facts_of_records_are_attributes_of_theirs() -> None:
    """A fact that is misspelt would fail at the prompt of a user only."""
    for record in exported_records():
        if "_repr_html_" in vars(record):
            names = record.__repr__.__closure__[0].cell_contents
            known = {field.name for field in fields(record)} | set(dir(record))
            assert set(names) <= known, record
