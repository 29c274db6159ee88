"""Instances in a file, against the same matrix in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overread.bags import Bags, StoredInstances
from overread.errors import FormatError, InvalidInputError


@pytest.fixture
def matrix():
    return np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)


@pytest.fixture
def stored(matrix, tmp_path):
    np.save(tmp_path / "X.npy", np.asfortranarray(matrix))
    return StoredInstances(tmp_path / "X.npy", feature_names=list("abcdef"))


def test_it_is_the_matrix(matrix, stored):
    assert (stored.shape, stored.dtype, len(stored), stored.nbytes) == ((20, 6), np.float32, 20, 480)
    assert np.array_equal(stored.read(), matrix)
    assert [column.tolist() for column in stored.read_columns([5, 0])] == matrix[:, [5, 0]].T.tolist()
    assert repr(stored).startswith("StoredInstances(")


@given(first=st.lists(st.integers(0, 19), min_size=1), second=st.data())
def test_rows_of_rows(first, second, tmp_path_factory):
    matrix = np.arange(120.0).reshape(20, 6)
    path = tmp_path_factory.mktemp("stored") / "X.npy"
    np.save(path, np.asfortranarray(matrix))
    again = second.draw(st.lists(st.integers(0, len(first) - 1), min_size=1))
    taken = StoredInstances(path).take_rows(np.array(first)).take_rows(np.array(again))
    assert np.array_equal(taken.read(), matrix[first][again])


def test_bags_of_it_are_the_bags_of_the_matrix(matrix, stored):
    ids = np.random.default_rng(1).integers(0, 8, 20)
    bags, expected = Bags.from_ids(stored, ids), Bags.from_ids(matrix, ids, feature_names=list("abcdef"))
    assert bags.feature_names == expected.feature_names
    assert np.array_equal(bags.offsets, expected.offsets)
    assert np.array_equal(bags.matrix.read(), expected.instances)
    assert np.array_equal(bags[2:5].matrix.read(), expected[2:5].instances)
    assert np.array_equal(bags[[5, 0]].matrix.read(), expected[[5, 0]].instances)
    assert repr(bags) == repr(expected)


def test_what_does_not_fit_is_refused(stored, tmp_path):
    with pytest.raises(InvalidInputError, match="2 feature names for 6 columns"):
        StoredInstances(stored.path, feature_names=["a", "b"])
    with pytest.raises(InvalidInputError, match="rows: 0 to 20 of 20"):
        stored.take_rows(np.array([0, 20]))
    np.save(tmp_path / "empty.npy", np.empty((0, 3), order="F", dtype=np.float32))
    with pytest.raises((InvalidInputError, FormatError), match=r"empty\.npy"):
        StoredInstances(tmp_path / "empty.npy")
    with pytest.raises(FormatError, match="No such file"):
        StoredInstances(tmp_path / "none.npy")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_no_number_is_named_by_its_row_in_the_file(matrix, stored, value):
    matrix[17, 3] = value
    np.save(stored.path, np.asfortranarray(matrix))
    with pytest.raises(InvalidInputError, match=rf"X\.npy: row 17, column 'd' is {value}"):
        list(stored.take_rows(np.array([3, 17])).read_columns([3]))
