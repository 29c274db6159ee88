"""Hostile JSON gives typed errors that name the file."""

import pytest

from overread.errors import FormatError, ModelFileError
from overread.files import _json as strict_json
from overread.files import json_text, parse_json, read_json


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not JSON"),
        (b"[1,", "not JSON"),
        (b"[NaN]", "NaN is not a number"),
        (b"[-Infinity]", "Infinity is not a number"),
        (b"[1e999]", "too large"),
        (b'{"a": 1, "a": 2}', "'a' is there twice"),
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
