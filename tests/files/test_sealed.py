"""A sealed file keeps its bytes, and a changed one is noticed."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.files import Seal, read_json
from overread.froc import LockedOperatingPoint
from overread.froc._locked import SEAL as LOCK_SEAL
from overread.models import load_model
from overread.models._saving import SEAL as MODEL_SEAL
from overread.study._detector import SEAL as DETECTOR_SEAL

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
