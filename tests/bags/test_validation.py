"""Checks of the pieces of Bags; what Bags itself says is in test_bags."""

import numpy as np
import pandas as pd
import pytest

from overread.bags._validation import (
    key_of_bags,
    offsets_of_sizes,
    positions_of,
    read_source_rows,
    refuse_repeated,
    refuse_shared,
    require_columns,
    same_array,
    same_table,
)
from overread.errors import InvalidInputError, TableError


def test_offsets_are_where_the_bags_begin():
    assert offsets_of_sizes([2, 1, 3]).tolist() == [0, 2, 3, 6]
    assert offsets_of_sizes([]).tolist() == [0]


def test_keys_mean_what_they_mean_to_numpy():
    for key in (slice(1, None), [3, 0], np.array([True, False, True, False]), [], np.array([-1])):
        expected = np.arange(4)[key] if len(np.atleast_1d(key)) or isinstance(key, slice) else []
        assert positions_of(key, 4).tolist() == list(expected)
    assert key_of_bags((slice(2), ...)) == slice(2)
    for wrong in ((0, 1), ()):
        with pytest.raises(IndexError, match="one axis"):
            key_of_bags(wrong)
    for wrong in ([0.5], [[0]], ["a"]):
        with pytest.raises(IndexError, match="indexed by integers"):
            positions_of(wrong, 4)


def test_source_rows_are_one_an_instance():
    assert read_source_rows(None, 3).tolist() == [0, 1, 2]
    with pytest.raises(InvalidInputError, match="source_rows"):
        read_source_rows([0, 1], 3)


def test_ids_in_two_parts_are_refused():
    refuse_shared([np.array(["a"]), None, np.array(["b"])], "bag")
    with pytest.raises(InvalidInputError, match="bag 'a' is in two of the parts"):
        refuse_shared([np.array(["a", "c"]), np.array(["b", "a"])], "bag")


def test_columns_and_keys_of_tables():
    table = pd.DataFrame({"image_id": ["i", "i"], "candidate_id": ["0", "0"]})
    require_columns(table, "candidates", ["image_id"])
    refuse_repeated(table[:1], "candidates", ["image_id"])
    with pytest.raises(TableError, match="candidates: no column x_mm; it has image_id, candidate_id"):
        require_columns(table, "candidates", ["image_id", "x_mm"])
    with pytest.raises(TableError, match="candidates row 1: image_id 'i', candidate_id '0' is there twice"):
        refuse_repeated(table, "candidates", ["image_id", "candidate_id"])


def test_absent_is_the_same_as_absent_only():
    array, table = np.arange(2), pd.DataFrame({"a": [1]})
    assert same_array(None, None)
    assert same_array(array, array.copy())
    assert not same_array(array, None)
    assert same_table(None, None)
    assert same_table(table, table.copy())
    assert not same_table(None, table)
