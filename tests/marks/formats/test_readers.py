"""Hostile XML gives typed errors, in bounded time and memory."""

import tracemalloc

import pytest

from overread.errors import FormatError
from overread.marks.formats import _readers as xml_file
from overread.marks.formats._readers import number_in, read_node, read_xml

BOMB = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "ha">%s]><a>&x9;</a>""" % b"".join(
    b'<!ENTITY x%d "%s">' % (level, b"&x%d;" % (level - 1) * 10 if level else b"&x;") for level in range(10)
)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not XML"),
        (b"<a><b></a>", "not XML"),
        (b"<a>", "not XML"),
        (b"\x89PNG\r\n", "not XML"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "not XML"),
        (BOMB, "document type or entities"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "document type or entities"),
        (b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><a/>', "document type or entities"),
    ],
)
def test_hostile_xml_is_refused(tmp_path, raw, words):
    path = tmp_path / "export.xml"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_xml(path)
    assert "export.xml" in str(caught.value)


def test_two_million_nested_elements_cost_little(tmp_path):
    path = tmp_path / "deep.xml"
    path.write_bytes(b"<a>" * 2_000_000)
    tracemalloc.start()
    with pytest.raises(FormatError, match="nested deeper than 100"):
        read_xml(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_file_too_large_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(xml_file, "LARGEST_FILE", 3)
    path = tmp_path / "export.xml"
    path.write_bytes(b"<a></a>")
    with pytest.raises(FormatError, match="more than"):
        read_xml(path)


@pytest.mark.parametrize("text", [None, "", "x", "nan", "inf", "1,5", "0x1"])
def test_numbers_in_xml_are_checked(text):
    with pytest.raises(FormatError, match="cx is"):
        number_in(text, "cx", "here")


def test_a_document_type_that_declares_nothing_is_harmless(tmp_path):
    """DIARETDB1's files begin so; the lines of messages stay the same."""
    path = tmp_path / "export.xml"
    path.write_bytes(b'<?xml version="1.0" standalone="no"?>\n<!DOCTYPE imgannotool>\n<a><b>1</b></a>')
    assert [element.tag for element in read_xml(path).iter()] == ["a", "b"]
    path.write_bytes(b"<!DOCTYPE a>\n<a>\n<b></a>")
    with pytest.raises(FormatError, match="line 3"):
        read_xml(path)


def test_wrong_types_name_their_place(tmp_path):
    path = tmp_path / "e.json"
    path.write_text('{"a": [{"n": "1", "t": 1, "b": true, "i": "", "none": null}]}')
    (node,) = read_node(path)["a"].items()
    for key, method in (("n", "number"), ("b", "number"), ("t", "text"), ("none", "text")):
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
