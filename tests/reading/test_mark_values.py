from __future__ import annotations

import math

import pytest

from overread.apps.room._store import RefusalError
from overread.apps.room._values import check_id, check_mark, read_flag, read_ms, read_text, read_whole

GOOD = {"x": 10.0, "y": 20, "rx": 5.0, "ry": 4.0, "angle": 30.0, "confidence": 50, "label": "nodule"}


def test_a_good_mark_is_taken_as_it_is():
    mark = check_mark(GOOD, 100, 80, ["nodule"])
    assert mark == {**GOOD, "comment": ""}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            (name, bad)
            for name in ("x", "y", "rx", "ry", "angle")
            for bad in (None, "1", True, math.inf, math.nan, [1])
        ],
        ("x", -0.1),
        ("x", 100.5),
        ("y", 81),
        ("rx", 0),
        ("ry", -1),
        ("rx", 129),
        ("angle", 400),
        ("confidence", 101),
        ("confidence", -1),
        ("confidence", "80"),
        ("label", "mass"),
        ("label", 3),
        ("comment", "x" * 2001),
        ("comment", "a\x00b"),
        ("comment", 5),
    ],
)
def test_a_value_that_no_reader_can_have_drawn_is_refused_by_name(name, value):
    with pytest.raises(RefusalError, match=name):
        check_mark({**GOOD, name: value}, 100, 80, ["nodule"])


def test_what_may_be_left_out():
    mark = check_mark({name: GOOD[name] for name in ("x", "y", "rx", "ry", "angle")}, 100, 80, [])
    assert (mark["confidence"], mark["label"], mark["comment"]) == (None, None, "")


@pytest.mark.parametrize(
    "value", [None, 5, "short", "x" * 65, "with space", "semi;colon", "../../etc", "ümlauts-ü"]
)
def test_ids_are_letters_digits_and_hyphens(value):
    with pytest.raises(RefusalError, match="8 to 64"):
        check_id(value, "op")


def test_flags_times_and_whole_numbers_are_of_their_type():
    assert read_flag({"on": True}, "on") is True
    assert read_ms({"active_ms": 1500}, "active_ms") == 1500
    assert read_text({"comment": "two\nlines"}, "comment") == "two\nlines"
    for name, read, bad in (("on", read_flag, 1), ("active_ms", read_ms, -1), ("active_ms", read_ms, 1.5)):
        with pytest.raises(RefusalError, match=name):
            read({name: bad}, name)
    with pytest.raises(RefusalError, match="version"):
        read_whole({"version": True}, "version", 10)
