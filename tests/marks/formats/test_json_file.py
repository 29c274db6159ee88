"""Hostile JSON gives typed errors that name the place."""

from __future__ import annotations

import pytest

from overread.errors import FormatError
from overread.marks.formats import json_file
from overread.marks.formats.json_file import read_json


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not usable"),
        (b"[1,", "not usable"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "Infinity is not JSON"),
        (b"[1e999]", "too large"),
        (b'{"a": 1, "a": 2}', "'a' is there twice"),
        (b'{"b": [{"a": 1, "c": 2, "a": 3}]}', "twice"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"\xff\xfe", "UTF-8"),
        (b"[" + b"1" * 10_000 + b"]", "not usable"),
    ],
)
def test_hostile_json_is_refused(tmp_path, raw, words):
    path = tmp_path / "export.json"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_json(path)
    assert "export.json" in str(caught.value)


def test_a_file_too_large_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(json_file, "LARGEST_FILE", 3)
    path = tmp_path / "export.json"
    path.write_bytes(b"[1, 2]")
    with pytest.raises(FormatError, match="more than"):
        read_json(path)


def test_wrong_types_name_their_place(tmp_path):
    path = tmp_path / "e.json"
    path.write_text(
        '{"a": [{"n": "1", "t": 1, "b": true, "i": "", "none": null, "big": 1' + "0" * 400 + "}]}"
    )
    (node,) = read_json(path)["a"].items()
    for key, method in (("n", "number"), ("b", "number"), ("big", "number"), ("t", "text"), ("none", "text")):
        with pytest.raises(FormatError, match=rf"e\.json: \.a\[0\]\.{key}: "):
            getattr(node[key], method)()
    for key in ("b", "i"):
        with pytest.raises(FormatError, match=rf"\[0\]\.{key}"):
            node[key].identifier()
    with pytest.raises(FormatError, match="'absent' is missing"):
        node["absent"]
    with pytest.raises(FormatError, match="an array belongs"):
        list(node["n"].items())
    with pytest.raises(FormatError, match="an object belongs"):
        node["n"].mapping()
    assert node.get("none") is None
    assert node["t"].identifier() == "1"
