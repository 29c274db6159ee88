"""Digests are those of the standard, and are remembered only where that is safe.

A sealed file keeps its bytes, and a changed one is noticed.
"""

import hashlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.errors import StorageError
from overread.files import FileDigests, Seal, digest_of_bytes, digest_of_file, digest_of_value, read_json
from overread.froc import LockedOperatingPoint
from overread.froc._locked import SEAL as LOCK_SEAL
from overread.models import load_model
from overread.models._saving import SEAL as MODEL_SEAL
from overread.study._detector import SEAL as DETECTOR_SEAL

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_of_nothing_it_is_the_published_one(tmp_path):
    (tmp_path / "f").touch()
    assert digest_of_bytes(b"") == EMPTY == digest_of_file(tmp_path / "f")


def test_a_value_s_digest_does_not_depend_on_the_order_of_keys():
    assert digest_of_value({"a": 1, "b": [2.5]}) == digest_of_value({"b": [2.5], "a": 1})
    assert digest_of_value({"a": 1}) != digest_of_value({"a": 1.0})


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        digest_of_file(tmp_path / "absent")


@pytest.fixture
def old_file(tmp_path, monkeypatch):
    """A file that is long finished by the clock of the digests."""
    path = tmp_path / "image"
    path.write_bytes(b"one")
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60_000_000_000)
    return path


def test_an_unchanged_file_is_not_read_again(tmp_path, old_file, monkeypatch):
    memory = tmp_path / "memory.json"
    digests = FileDigests(memory)
    assert digests.of("id", old_file) == hashlib.sha256(b"one").hexdigest()
    digests.save()
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
    assert FileDigests(memory).of("id", old_file) == hashlib.sha256(b"one").hexdigest()
    assert str(tmp_path) not in memory.read_text()


def test_a_changed_file_of_the_same_size_and_time_is_read_again(tmp_path, old_file):
    digests = FileDigests(tmp_path / "memory.json")
    digests.of("id", old_file)
    state = old_file.stat()
    old_file.write_bytes(b"two")
    os.utime(old_file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert digests.of("id", old_file) == hashlib.sha256(b"two").hexdigest()


def test_a_young_file_is_not_remembered(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(b"one")
    memory = tmp_path / "memory.json"
    digests = FileDigests(memory)
    digests.of("id", path)
    digests.save()
    assert memory.read_text().startswith('{"files": {}, ')


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"id": [1, 2]}', b"\xff"])
def test_a_damaged_memory_is_forgotten(tmp_path, content):
    memory, path = tmp_path / "memory.json", tmp_path / "image"
    memory.write_bytes(content)
    path.write_bytes(b"one")
    assert FileDigests(memory).of("id", path) == hashlib.sha256(b"one").hexdigest()


def test_a_digest_that_was_changed_is_not_believed(tmp_path):
    image, memory = tmp_path / "image", tmp_path / "memory"
    image.write_bytes(b"pixels")
    os.utime(image, ns=(0, 0))
    with patch("overread.files._digests.YOUNG_NS", -1):
        digests = FileDigests(memory)
        right = digests.of("a", image)
    digests.save()
    assert right in memory.read_text()
    memory.write_text(memory.read_text().replace(right, "0" * 64))
    assert FileDigests(memory).of("a", image) == right


# Written by Overread 0.1.0 before there was one seal for all three.
WRITTEN = Path(__file__).parent / "sealed"
# Since then detectors say who finds their candidates: schema 3.
OLD_DETECTOR_SEAL = replace(DETECTOR_SEAL, head={**DETECTOR_SEAL.head, "schema": 2})
NESTED = Seal({"format": "thing", "schema": 1})
FLAT = Seal({"schema": "thing/1"}, digest_key="checksum", payload_key=None, indent=2)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("name", "seal"), [("model", MODEL_SEAL), ("detector", OLD_DETECTOR_SEAL), ("operating_point", LOCK_SEAL)]
)
def test_files_written_before_are_read_and_written_byte_by_byte(name, seal):
    path = WRITTEN / f"{name}.json"
    document = read_json(path)
    assert seal.broken_key(document) is None
    assert seal.spell(seal.close(seal.payload(document))) == path.read_bytes()


def test_a_detector_of_another_schema_is_noticed():
    assert DETECTOR_SEAL.broken_key(read_json(WRITTEN / "detector.json")) == "schema"


def test_a_model_and_a_locked_point_written_before_still_load():
    assert load_model(WRITTEN / "model.json").coef_.shape == (1, 3)
    assert LockedOperatingPoint.read(WRITTEN / "operating_point.json").threshold == 0.1


@given(json_values)
def test_what_was_closed_is_whole_and_gives_its_payload_back(payload):
    document = json.loads(NESTED.spell(NESTED.close(payload)))
    assert NESTED.broken_key(document) is None
    assert NESTED.payload(document) == payload


def test_the_digest_is_that_of_canonical_json():
    document = NESTED.close({"b": [1.5, "ä"], "a": None})
    assert document["sha256"] == hashlib.sha256(b'{"a":null,"b":[1.5,"\\u00e4"]}').hexdigest()
    assert list(document) == ["format", "schema", "sha256", "payload"]


def test_a_flat_file_holds_the_members_of_its_payload():
    document = FLAT.close({"x": 1})
    assert list(document) == ["schema", "checksum", "x"]
    assert FLAT.payload(document) == {"x": 1}
    assert FLAT.broken_key({**document, "y": 2}) == "checksum"


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"format": "other"}, "format"),
        ({"schema": 2}, "schema"),
        ({"schema": True}, "schema"),
        ({"schema": 1.0}, "schema"),
        ({"payload": [2]}, "sha256"),
        ({"sha256": None}, "sha256"),
        ({"format": "other", "payload": [2]}, "format"),
    ],
)
def test_the_first_member_that_is_wrong_is_named(change, broken):
    assert NESTED.broken_key({**NESTED.close([1]), **change}) == broken


@pytest.mark.parametrize("document", [None, [], "text", {}])
def test_what_is_no_sealed_file_breaks_at_its_head(document):
    assert NESTED.broken_key(document) == "format"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_has_not_cannot_be_sealed(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        NESTED.close({"x": number})
