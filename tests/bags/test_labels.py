"""HOSTILE rows 21-27: what labels may be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from overread.bags import read_labels
from overread.errors import InputTypeError, InvalidInputError


@pytest.mark.parametrize(
    ("y", "classes", "probability"),
    [
        ([0, 1, 1], [0, 1], [0, 1, 1]),
        ([0.0, 1.0], [0, 1], [0, 1]),
        ([True, False], [False, True], [1, 0]),
        ([-1, 1], [-1, 1], [0, 1]),
        ([2, 1, 2], [1, 2], [1, 0, 1]),
        ([0.0, 2.0], [0, 2], [0, 1]),
        (["no", "yes"], ["no", "yes"], [0, 1]),
        (np.array(["b", "a"], dtype=object), ["a", "b"], [1, 0]),
        (pd.Series(["b", "a"]), ["a", "b"], [1, 0]),
        (pd.Series([1, 0], dtype="Int64"), [0, 1], [1, 0]),
        (np.array([True, False], dtype=object), [False, True], [1, 0]),
        ([0, 0], [0, 1], [0, 0]),
        ([1, 1], [0, 1], [1, 1]),
    ],
)
def test_two_discrete_values_are_classes(y, classes, probability):
    labels = read_labels(y)
    assert labels.classes.tolist() == classes
    assert labels.probability.tolist() == probability
    assert labels.probability.dtype == np.float64
    assert labels.is_hard


@pytest.mark.parametrize(
    "y",
    [
        [0, 0.25],
        [0.25, 0.75],
        [0.5],
        [0.0, 1e-320],
        [1 - 2**-53, 0.0],
        np.array([0.5, 1], dtype=np.float32),
        np.array([0.5, 1], dtype=object),
        pd.Series([0.25, 0.0], dtype="Float64"),
    ],
)
def test_numbers_between_0_and_1_are_soft_labels(y):
    labels = read_labels(y)
    assert labels.classes.tolist() == [0, 1]
    assert labels.probability.tolist() == [float(value) for value in y]
    assert not labels.is_hard
    assert not labels.is_constant


@pytest.mark.parametrize("value", [-1e-17, 1 + 2**-52, -0.5, 3.5, 1e300, -1e-320])
def test_numbers_just_outside_are_refused_in_scikit_learns_words(value):
    with pytest.raises(InvalidInputError, match=r"Unknown label type: continuous.*y row 1 is "):
        read_labels([0.5, value])


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_missing_labels_are_named(missing):
    with pytest.raises(InvalidInputError, match=r"Input y contains NaN.*row 1"):
        read_labels(np.array([0.5, missing], dtype=object))
    with pytest.raises(InvalidInputError, match=r"Input y contains NaN.*row 1"):
        read_labels([0.5, np.nan])
    with pytest.raises(InvalidInputError, match="infinity or a value too large"):
        read_labels([0.5, -np.inf])


def test_more_than_two_classes_are_refused_in_scikit_learns_words():
    with pytest.raises(
        ValueError, match=r"Only binary classification is supported. The type of the target is"
    ):
        read_labels([0, 1, 2])
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        read_labels(["a", "b", "c"])


@pytest.mark.parametrize("y", [[2, 2], ["a", "a"], [-1, -1]])
def test_one_class_that_is_neither_0_nor_1_is_refused(y):
    with pytest.raises(InvalidInputError, match="one class only"):
        read_labels(y)


def test_constant_labels_are_told():
    assert read_labels([0, 0]).is_constant
    assert read_labels([1.0, 1.0]).is_constant
    assert not read_labels([0, 1]).is_constant


def test_shapes_and_kinds_that_are_no_labels():
    with pytest.raises(InvalidInputError, match="1d array"):
        read_labels([[0, 1], [1, 0]])
    with pytest.raises(InvalidInputError, match="0 sample"):
        read_labels([])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        read_labels(None)
    with pytest.raises(InvalidInputError, match="Complex data not supported"):
        read_labels(np.array([1j, 0]))
    with pytest.raises(InputTypeError, match="Unknown label type"):
        read_labels(np.array([1, "a"], dtype=object))
    with pytest.warns(DataConversionWarning):
        assert read_labels(np.array([[0.5], [1.0]])).probability.tolist() == [0.5, 1]


def test_known_classes_decide_what_a_single_value_means():
    assert read_labels([1, 1], classes=np.array([1, 2])).probability.tolist() == [0, 0]
    assert read_labels([2, 2], classes=np.array([1, 2])).probability.tolist() == [1, 1]
    assert read_labels(["b"], classes=np.array(["a", "b"])).probability.tolist() == [1]
    assert read_labels([0.25, 1], classes=np.array([0, 1])).probability.tolist() == [0.25, 1]
    assert read_labels([1, 1], classes=np.array([0, 1])).probability.tolist() == [1, 1]
    with pytest.raises(InvalidInputError, match=r"row 0 is .* none of the classes"):
        read_labels(["c"], classes=np.array(["a", "b"]))
    with pytest.raises(InvalidInputError, match="none of the classes"):
        read_labels([2, 2], classes=np.array([0, 1]))
