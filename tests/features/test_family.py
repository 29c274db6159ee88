"""How families describe and stack their features."""

import numpy as np
import pytest

from overread.features import EPSILON, describe_features, stack_columns
from overread.features._family import ratio, to_columns

FEATURES = describe_features(
    "ring",
    "A book",
    [("mean", "grey", "m over r"), ("other.w3", "1", "mean m'")],
    symbols={"m": "m: mean of g", "g": "g: grey level", "w": "w: never used"},
)


def test_names_kind_and_reference():
    assert [feature.name for feature in FEATURES] == ["ring.mean", "ring.other.w3"]
    assert {feature.family for feature in FEATURES} == {"ring"}
    assert {feature.kind for feature in FEATURES} == {"specific"}
    assert {feature.reference for feature in FEATURES} == {"A book"}
    assert describe_features("a", "b", [("c", "1", "d")], kind="texture")[0].kind == "texture"


def test_symbols_are_explained_also_those_in_explanations():
    """A symbol is a word; a part of one, or one with a prime before it, is not."""
    assert FEATURES[0].formula == "m over r; m: mean of g; g: grey level"
    assert (
        describe_features("a", "b", [("c", "1", "mg + x.m")], symbols={"m": "M", "g": "G"})[0].formula
        == "mg + x.m"
    )


def test_values_find_their_columns_by_name():
    found = stack_columns(FEATURES, {"other.w3": np.array([3.0, 4.0]), "mean": np.array([1.0, 2.0])}, 2)
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(KeyError):
        stack_columns(FEATURES, {"mean": np.zeros(2)}, 2)


def test_to_columns_flattens_and_clips():
    found = to_columns(np.array([[[1.0, 1e300], [-1e300, 2.0]]]))
    largest = np.finfo(np.float32).max
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, largest, -largest, 2.0]]
    assert to_columns(np.zeros((0, 3, 4))).shape == (0, 12)


def test_ratio_of_nothing_to_nothing():
    assert ratio(np.zeros(1), np.zeros(1))[0] == 0.0
    assert ratio(np.ones(1), np.ones(1))[0] == pytest.approx(1 / (1 + EPSILON))
