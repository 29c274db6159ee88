"""Checks of the pieces of Bags; what Bags itself says is in test_bags.

Ids: kept exactly, in order of first appearance, and never guessed.
HOSTILE rows 1-3, 14, 42-45: what a matrix of instances may be.
"""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from overread.bags import Bags
from overread.bags._validation import CELLS_PER_BLOCK, read_instances
from overread.errors import InputTypeError, InvalidInputError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, r"infinity \(inf\)"), (-np.inf, r"infinity \(-inf\)")]
)
def test_nonfinite_cell_is_named(dtype, order, value, word):
    X = np.zeros((7, 4), dtype=dtype, order=order)
    X[5, 2] = value
    with pytest.raises(InvalidInputError, match=rf"{word} at row 5, column 2"):
        read_instances(X)
    with pytest.raises(InvalidInputError, match=rf"{word} at row 5, column 'c'"):
        read_instances(pd.DataFrame(X, columns=list("abcd")))


def test_nonfinite_cell_beyond_the_first_block_is_named():
    X = np.zeros((CELLS_PER_BLOCK // 8 + 50, 16), dtype=np.float32)
    X[-3, 7] = np.nan
    for layout in (X, np.asfortranarray(X)):
        with pytest.raises(InvalidInputError, match=rf"row {len(X) - 3}, column 7"):
            read_instances(layout)


def test_opposite_infinities_do_not_cancel():
    with pytest.raises(InvalidInputError, match="row 0, column 0"):
        read_instances([[np.inf, -np.inf]])


def test_finite_values_whose_sum_overflows_pass():
    X = np.full((3, 3), np.finfo(np.float64).max)
    assert read_instances(X).values is X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_kept_and_shared(dtype):
    X = np.arange(6, dtype=dtype).reshape(3, 2)
    values = read_instances(X).values
    assert values.dtype == dtype
    assert np.shares_memory(values, X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert read_instances(frame).values.dtype == dtype
    assert read_instances(frame).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        (np.float16, np.float32),
        (np.int8, np.float64),
        (np.uint16, np.float64),
        (np.int64, np.float64),
        (np.uint64, np.float64),
        (bool, np.float64),
        (np.longdouble, np.float64),
        (object, np.float64),
        (">f4", np.float32),
        (">f8", np.float64),
    ],
)
def test_other_numbers_are_upcast_exactly(dtype, target):
    X = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    values = read_instances(X).values
    assert values.dtype == target
    assert values.dtype.isnative
    assert values.tolist() == [[0, 1], [1, 1], [1, 0]]


@pytest.mark.parametrize("value", [2**53 + 1, 2**64 - 1])
def test_unsigned_beyond_exact_floats_is_refused(value):
    X = np.zeros((3, 2), dtype=np.uint64)
    assert read_instances(X + np.uint64(2**53)).values.max() == 2**53
    X[1, 1] = value
    with pytest.raises(InvalidInputError, match=rf"row 1, column 1 is {value}, beyond 2\^53"):
        read_instances(X)
    with pytest.raises(InvalidInputError, match=r"row 1, column 'b'"):
        read_instances(pd.DataFrame(X, columns=["a", "b"]))


def test_negative_integer_beyond_exact_floats_is_refused():
    with pytest.raises(InvalidInputError, match="beyond"):
        read_instances(np.array([[-(2**53) - 1]]))
    with pytest.raises(InvalidInputError, match="beyond"):
        read_instances(np.array([[2**60 + 1]], dtype=object))


@pytest.mark.parametrize("cell", ["1.5", None, {"a": 1}, [1], 1j, pd.NA])
def test_object_cell_that_is_no_number_is_named(cell):
    X = np.zeros((2, 3), dtype=object)
    X[1, 2] = cell
    with pytest.raises(InputTypeError, match=r"row 1, column 2 .* argument must be .* string.* number"):
        read_instances(X)


def test_object_numbers_of_several_kinds_pass():
    X = np.array([[1, 2.5, True], [np.float32(0.5), Decimal("0.25"), np.int8(3)]], dtype=object)
    assert read_instances(X).values.tolist() == [[1, 2.5, 1], [0.5, 0.25, 3]]


@pytest.mark.parametrize("X", [np.array([["1", "2"]]), np.array([["2020-01-01"]], dtype="M8[D]")])
def test_text_and_dates_are_refused(X):
    with pytest.raises(InputTypeError, match="numbers"):
        read_instances(X)


def test_complex_is_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_instances(np.ones((2, 2), dtype=complex))


@pytest.mark.parametrize(
    "container", [scipy.sparse.csr_matrix, scipy.sparse.coo_array, pd.DataFrame.sparse.from_spmatrix]
)
def test_sparse_is_never_silently_dense(container):
    with pytest.raises(InputTypeError, match="sparse"):
        read_instances(container(scipy.sparse.csr_matrix(np.eye(3))))


def test_masked_cells_are_refused_and_an_idle_mask_passes():
    X = np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(InvalidInputError, match="row 1 has a masked cell"):
        read_instances(X)
    assert type(read_instances(np.ma.array(np.ones((3, 2)))).values) is np.ndarray


def test_frames_of_mixed_and_nullable_types():
    frame = pd.DataFrame(
        {
            "a": np.array([1, 2], np.int8),
            "b": [0.5, 1.5],
            "c": [True, False],
            "d": pd.array([1.5, 2.5], "Float64"),
            "e": pd.array([1, 2], "Int64"),
            "f": np.array([1, 2.5], dtype=object),
        }
    )
    assert read_instances(frame).values.tolist() == [[1, 0.5, 1, 1.5, 1, 1], [2, 1.5, 0, 2.5, 2, 2.5]]
    assert read_instances(frame.drop(columns="f")).values.tolist()[1] == [2, 1.5, 0, 2.5, 2]
    frame["d"] = pd.array([1.5, None], "Float64")
    with pytest.raises(InvalidInputError, match="NaN at row 1, column 'd'"):
        read_instances(frame)


@pytest.mark.parametrize("column", [["x", "y"], pd.Categorical([1, 2]), pd.to_datetime(["2020", "2021"])])
def test_frame_columns_that_are_no_numbers_are_named(column):
    with pytest.raises(InputTypeError, match="column 'bad'"):
        read_instances(pd.DataFrame({"a": [1.0, 2.0], "bad": column}))


def test_feature_names_must_be_text_and_differ():
    assert read_instances(pd.DataFrame([[1.0, 2.0]])).feature_names is None
    with pytest.raises(TypeError, match="must all be text"):
        read_instances(pd.DataFrame([[1.0, 2.0]], columns=["a", 1]))
    with pytest.raises(InvalidInputError, match="two columns named 'a'"):
        read_instances(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
    with pytest.raises(InvalidInputError, match="1 feature names for 2 columns"):
        read_instances([[1.0, 2.0]], feature_names=["a"])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (np.ones((0, 3)), r"0 sample\(s\)"),
        (np.ones(3), "Expected 2D array.*Reshape your data"),
        (np.ones((2, 2, 2)), "Expected 2D array, got|got 3D"),
        ([[1.0], [1.0, 2.0]], "rows differ in length"),
    ],
)
def test_shapes_that_are_no_matrix(X, words):
    with pytest.raises(InvalidInputError, match=words):
        read_instances(X)


def test_checks_need_no_second_matrix():
    import tracemalloc

    X = np.ones((8 * CELLS_PER_BLOCK // 64, 64), dtype=np.float32)
    tracemalloc.start()
    Bags.singletons(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 4
