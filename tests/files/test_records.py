"""A record that is typed once comes back from JSON, and what does not fit is named with its place.

Hostile JSON gives typed errors that name the file.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from overread.apps.scenario._points import MeasuredPoint
from overread.errors import FormatError, InvalidInputError, ModelFileError
from overread.files import _json as strict_json
from overread.files import from_json, json_text, later, parse_json, read_json, to_json
from overread.models._report import RVMReport
from overread.report import Pictures, RunHead, StudyResults
from overread.study import Detector
from overread.study._pipeline import ImageTask, Versions
from overread.study._store import Entry
from overread.study.executors._worker import Outcome, WorkLimits


def through_text(record):
    """Write a record as strict JSON text and read it back."""
    return from_json(type(record), json.loads(json.dumps(to_json(record), allow_nan=False)))


def same(one, two):
    """Whether two values are equal, NaN being equal to itself."""
    if is_dataclass(one):
        return type(one) is type(two) and all(
            same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one)
        )
    if isinstance(one, pd.DataFrame):
        return list(one.columns) == list(two.columns) and all(
            same(one[name].tolist(), two[name].tolist()) for name in one.columns
        )
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=True)
    if isinstance(one, dict):
        return list(one) == list(two) and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(two) and len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float) and math.isnan(one):
        return isinstance(two, float) and math.isnan(two)
    return one == two and type(one) is type(two)


@dataclass(frozen=True)
class Inner:
    name: str
    value: float


@dataclass(frozen=True, eq=False)
class Everything:
    """One field of every type that records of results have."""

    text: str
    number: float
    count: int
    is_so: bool
    choice: Literal["fp", "ignore"]
    maybe: Inner | None
    inner: Inner
    inners: list[Inner]
    several: tuple[Inner, ...]
    pair: tuple[float, str]
    numbers: Sequence[float]
    array: NDArray[np.float64]
    counts: NDArray[np.int64]
    by_name: dict[str, float]
    by_number: Mapping[int, Inner]
    anything: dict[str, Any]
    table: pd.DataFrame


numbers = st.floats(allow_nan=True, allow_infinity=False)
tables = st.integers(0, 5).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "name": st.lists(st.text(), min_size=n, max_size=n),
            "x": st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=n, max_size=n),
            "n": st.lists(st.integers(-(2**53), 2**53), min_size=n, max_size=n),
            "is": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    ).map(pd.DataFrame)
)


def strategy_of(kind):
    """Values of a type, as its hints tell."""
    plain = {
        str: st.text(),
        float: numbers,
        int: st.integers(-(2**53), 2**53),
        bool: st.booleans(),
        bytes: st.nothing(),
    }
    origin, parts = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return st.none() | st.booleans() | st.text()
    if kind in plain:
        return plain[kind]
    if kind is NoneType:
        return st.none()
    if kind is pd.DataFrame:
        return tables
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{one.name: strategy_of(hints[one.name]) for one in fields(kind)})
    if origin in (Union, UnionType):
        # Where null has a meaning of its own, it does not stand for NaN.
        return st.one_of(
            [numbers.filter(math.isfinite) if part is float else strategy_of(part) for part in parts]
        )
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is np.ndarray:
        dtype = np.dtype(get_args(parts[1])[0])
        items = {"f": numbers, "i": plain[int], "b": plain[bool]}[dtype.kind]
        return st.lists(items, max_size=3).map(lambda values: np.array(values, dtype=dtype))
    if origin in (dict, Mapping):
        keys = st.integers(0, 99) if parts[0] is int else st.text()
        return st.dictionaries(keys, strategy_of(parts[1]), max_size=2)
    if origin is tuple and Ellipsis not in parts:
        return st.tuples(*map(strategy_of, parts))
    assert origin in (list, tuple, Sequence), kind
    return st.lists(strategy_of(parts[0]), max_size=2).map(tuple if origin is tuple else list)


def kinds_of(kind):
    """All types that are reached from the fields of a dataclass."""
    found, waiting = set(), [kind]
    while waiting:
        one = waiting.pop()
        if one in found or one is Any:
            continue
        found.add(one)
        if is_dataclass(one):
            waiting += get_type_hints(one).values()
        waiting += [
            argument for argument in get_args(one) if not isinstance(argument, str) and argument is not ...
        ]
    return found


ROOTS = (
    StudyResults,
    Pictures,
    RunHead,
    Detector,
    ImageTask,
    Outcome,
    WorkLimits,
    Versions,
    Entry,
    MeasuredPoint,
    RVMReport,
)
# Whole results are covered by their parts; the others refuse values drawn at random, and have tests of their own.
TRIED_ELSEWHERE = {"StudyResults", "Detector", "FieldRecipe", "TrainingFingerprints"}
RECORDS = sorted(
    {kind for root in ROOTS for kind in kinds_of(root) if is_dataclass(kind)},
    key=lambda kind: kind.__qualname__,
)


@pytest.mark.parametrize(
    "kind", [kind for kind in RECORDS if kind.__name__ not in TRIED_ELSEWHERE], ids=lambda kind: kind.__name__
)
@settings(max_examples=4, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_record_of_the_package_comes_back(kind, data):
    try:
        record = data.draw(strategy_of(kind))
    except InvalidInputError:
        reject()
    assert same(record, through_text(record))


@given(strategy_of(Everything))
def test_every_type_comes_back(record):
    assert same(record, through_text(record))


@given(strategy_of(Everything))
def test_once_written_it_is_written_the_same_again(record):
    assert to_json(through_text(record)) == json.loads(json.dumps(to_json(record)))


def plain(**changes):
    record = Everything(
        "t", 1.5, 2, True, "fp", None, Inner("a", 1.0), [Inner("b", 2.0)], (), (1.0, "x"), [1.0],
        np.array([1.0, np.nan]), np.array([1]), {"a": 1.0}, {3: Inner("c", 3.0)}, {}, pd.DataFrame({"x": [1.0]}),
    )  # fmt: skip
    return to_json(record) | changes


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"text": 3}, r"f\.json\.text: 3 is not of type str"),
        ({"number": "3"}, r"f\.json\.number: '3' is not of type float"),
        ({"number": True}, r"f\.json\.number: True is not of type float"),
        ({"count": 2.0}, r"f\.json\.count: 2\.0 is not of type int"),
        ({"count": True}, r"f\.json\.count: True is not of type int"),
        ({"count": None}, r"f\.json\.count: None is not of type int"),
        ({"is_so": 1}, r"f\.json\.is_so: 1 is not of type bool"),
        ({"choice": "tp"}, r"f\.json\.choice: 'tp' is not one of \('fp', 'ignore'\)"),
        ({"choice": ["fp"]}, r"f\.json\.choice: "),
        ({"maybe": 3}, r"f\.json\.maybe: 3 is not an object"),
        ({"inner": {"name": "a"}}, r"f\.json\.inner\.value: is missing"),
        ({"inner": {"name": "a", "value": 1, "more": 1}}, r"f\.json\.inner\.more: is not known"),
        (
            {"inners": [{"name": "a", "value": 1}, {"name": 2, "value": 1}]},
            r"f\.json\.inners\[1\]\.name: 2 is not",
        ),
        ({"inners": {}}, r"f\.json\.inners: \{\} is not a list"),
        ({"pair": [1.0]}, r"f\.json\.pair: \[1\.0\] is not a list of 2"),
        ({"pair": [1.0, 2.0]}, r"f\.json\.pair\[1\]: 2\.0 is not of type str"),
        ({"array": 3}, r"f\.json\.array: 3 is not a list of numbers"),
        ({"array": ["x"]}, r"f\.json\.array: \['x'\] is not a list of numbers"),
        ({"array": [[1.0], 2.0]}, r"f\.json\.array: .* is not a list of numbers"),
        ({"by_name": []}, r"f\.json\.by_name: \[\] is not an object"),
        ({"by_name": {"a": "b"}}, r"f\.json\.by_name\.a: 'b' is not of type float"),
        (
            {"by_number": {"x": {"name": "a", "value": 1}}},
            r"f\.json\.by_number\.x: 'x' is not a whole number",
        ),
        ({"table": [1]}, r"f\.json\.table: \[1\] is not an object of columns"),
        ({"table": {"x": 1}}, r"f\.json\.table: .* is not an object of columns"),
        ({"table": {"x": [1], "y": []}}, r"f\.json\.table: its columns differ in length"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(changes, told):
    with pytest.raises(FormatError, match=f"^{told}"):
        from_json(Everything, plain(**changes), "f.json")


def test_numbers_that_json_has_not_become_null_and_nan():
    assert to_json([math.nan, math.inf, np.float32(1.5), np.int64(3), np.bool_(True), pd.NA]) == [
        None, None, 1.5, 3, True, None,
    ]  # fmt: skip
    assert math.isnan(from_json(Inner, {"name": "a", "value": None}).value)


def test_a_column_of_nothing_but_nulls_is_of_missing_numbers():
    @dataclass(frozen=True, eq=False)
    class Kept:
        table: pd.DataFrame

    globals()["Kept"] = Kept
    back = through_text(Kept(pd.DataFrame({"x": [math.nan, math.nan], "t": ["a", None]})))
    assert back.table["x"].dtype == np.float64
    assert back.table["x"].isna().all()
    assert back.table["t"].tolist()[0] == "a"


def test_a_whole_number_is_a_number():
    value = from_json(Inner, {"name": "a", "value": 3}).value
    assert (value, type(value)) == (3.0, float)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Special:
    place: Path
    colour: Colour
    flags: NDArray[np.bool_]
    added: float = later(1.0)


def test_paths_enumerations_flags_and_fields_that_came_later():
    record = Special(Path("a/b"), Colour.RED, np.array([True]))
    assert to_json(record) == {"place": "a/b", "colour": "red", "flags": [True]}
    assert same(record, through_text(record))
    assert through_text(Special(Path("a"), Colour.RED, np.array([]), 2.0)).added == 2.0
    for change, told in (({"colour": "blue"}, "colour"), ({"place": 3}, "place"), ({"flags": [1]}, "flags")):
        with pytest.raises(FormatError, match=f"^f.{told}: "):
            from_json(Special, to_json(record) | change, "f")


@pytest.mark.parametrize("items", [["1.0"], [True], [[1.0], 2.0], [None, "x"], [10**400]])
def test_an_array_takes_nothing_but_its_numbers(items):
    with pytest.raises(FormatError, match="is not a list of numbers"):
        from_json(Everything, plain(array=items))
    with pytest.raises(FormatError, match="is not a list of numbers"):
        from_json(Everything, plain(counts=[*items, None]))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON"),
        (b"[1,", "not JSON"),
        (b"[NaN]", "NaN is not a number"),
        (b"[-Infinity]", "Infinity is not a number"),
        (b"[1e999]", "too large"),
        (b'{"a": 1, "a": 2}', "'a' occurs twice"),
        (b'{"b": [{"a": 1, "c": 2, "a": 3}]}', "twice"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" + b"1" * 10_000 + b"]", "not JSON"),
        (b"[1" + b"0" * 400 + b"]", "too large"),
        (b"[-1" + b"0" * 400 + b"]", "too large"),
        (rb'{"id": "a\ud800"}', "half of a surrogate pair"),
        (rb'{"\uDC00": 1}', "half of a surrogate pair"),
        (rb'["\udc00\ud800"]', "half of a surrogate pair"),
    ],
)
def test_hostile_json_is_refused(tmp_path, raw, words):
    path = tmp_path / "export.json"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_json(path)
    assert "export.json" in str(caught.value)


def test_a_file_too_large_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(strict_json, "LARGEST_FILE", 3)
    path = tmp_path / "export.json"
    path.write_bytes(b"[1, 2]")
    with pytest.raises(FormatError, match="more than"):
        read_json(path)


def test_the_error_is_the_callers():
    with pytest.raises(ModelFileError, match="model m: not JSON"):
        parse_json(b"{", "model m", error=ModelFileError)


def test_good_json_is_read(tmp_path):
    path = tmp_path / "good.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, 2.5, null]}')
    assert read_json(path) == {"a": [1, 2.5, None]}
    path.write_bytes(rb'["\ud83d\ude00", "\\ud800", 9007199254740993]')
    assert read_json(path) == ["\U0001f600", "\\ud800", 2**53 + 1]


def test_printed_json_is_read_back_and_has_null_for_what_is_no_number():
    value = {"a": (1, float("nan")), "b": [{"c": float("-inf")}], "ä": 0.1}
    text = json_text(value)
    assert parse_json(text.encode(), "here") == {"a": [1, None], "b": [{"c": None}], "ä": 0.1}
    assert "ä" in text
    assert json_text([1], indent=2) == "[\n  1\n]"
