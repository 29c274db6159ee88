"""Wrong types in JSON give errors that name the place."""

import pytest

from overread.errors import FormatError
from overread.marks.formats._readers import read_node


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
