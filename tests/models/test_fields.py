"""Each kind of value becomes plain JSON and comes back, or is refused with its place."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from overread.errors import InvalidInputError, ModelFileError
from overread.models import L1, ElasticNet
from overread.models._saving import (
    Flag,
    Float,
    FloatArray,
    Integer,
    Length,
    Names,
    Place,
    Record,
    Records,
    Text,
    decode_parameter,
    encode_parameter,
)


@dataclass(frozen=True)
class Example:
    number: float
    count: int
    parts: tuple[float, ...]


def place():
    return Place("file", {})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Float(), 0.1),
        (Integer(), 3),
        (Flag(), True),
        (Text(), "é"),
        (Length("d"), 4),
        (Record(Example), Example(0.5, 2, (1.0, 2.0))),
        (Records(Example, 1), (Example(0.5, 2, ()),)),
    ],
)
def test_there_and_back(field, value):
    assert field.decode(json.loads(json.dumps(field.encode(value))), place()) == value


def test_arrays_keep_their_bits_and_letters_their_lengths():
    values = np.array([[0.1, -0.0, 5e-324]])
    where = place()
    back = FloatArray(1, "d").decode(FloatArray(1, "d").encode(values), where)
    assert back.tobytes() == values.tobytes()
    with pytest.raises(ModelFileError, match="file counts 2 items where there are 3 elsewhere"):
        Names("d").decode(["a", "b"], where)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, "text", [1, [2.0, "a"]], L1(), ElasticNet(0.3), [ElasticNet(0.3), "l1"]]
)
def test_parameters_there_and_back(value):
    assert decode_parameter(json.loads(json.dumps(encode_parameter(value, "p"))), place()) == value


def test_parameters_that_a_file_cannot_hold():
    with pytest.raises(InvalidInputError, match="the parameter p is a RandomState"):
        encode_parameter(np.random.RandomState(0), "p")
    with pytest.raises(ModelFileError, match="file must be null"):
        decode_parameter({"a": 1}, place())
