"""Ids: kept exactly, in order of first appearance, and never guessed."""

import numpy as np
import pandas as pd
import pytest

from overread.bags._validation import object_array, read_ids
from overread.errors import InputTypeError, InvalidInputError


@pytest.mark.parametrize(
    "ids",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="str"),
        [("x", 1), ("x", 2), ("x", 1)],
        [7, 3, 7],
        pd.Categorical(["b", "a", "b"]),
    ],
    ids=lambda ids: type(ids).__name__,
)
def test_ids_come_back_by_their_numbers(ids):
    read = read_ids(ids, n_rows=3, name="bags")
    assert read.codes.tolist() == [0, 1, 0]
    assert read.ids[read.codes].tolist() == list(ids)


def test_the_leading_zeros_of_text_stay():
    assert read_ids(["007", "7"], n_rows=2, name="bags").ids.tolist() == ["007", "7"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_id_is_refused(missing):
    with pytest.raises(InvalidInputError, match=r"bags row 1 is .*NaN is not one"):
        read_ids(["a", missing], n_rows=2, name="bags")


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([True, 1], "mixes types"),
        (["1", 1], "mixes types"),
        ([[1], [2]], "hashable"),
        (np.ones((2, 2)), "one id a row"),
        (5, "sequence of ids"),
    ],
)
def test_ids_that_would_join_bags_in_silence_are_refused(ids, said):
    with pytest.raises(InputTypeError, match=said):
        read_ids(ids, n_rows=2, name="bags")


def test_tuples_stay_whole():
    assert object_array([(1, 2), (3, 4)]).shape == (2,)
