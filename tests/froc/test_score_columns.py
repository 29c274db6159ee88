"""Columns of scores, from a matrix or one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from overread.errors import InvalidInputError
from overread.froc._choice import read_score_columns

MATRIX = np.arange(12.0).reshape(4, 3)


class OneByOne:
    shape: ClassVar = MATRIX.shape

    def read_columns(self) -> Iterator[np.ndarray]:
        return iter(MATRIX.T)


@pytest.mark.parametrize("scores", [MATRIX, MATRIX.tolist(), pd.DataFrame(MATRIX), OneByOne()])
def test_columns_of_anything_are_the_same(scores: object) -> None:
    found = list(read_score_columns(scores, 3, "scores"))
    assert np.array_equal(np.column_stack(found), MATRIX)


@pytest.mark.parametrize("scores", [MATRIX, MATRIX[0], OneByOne()])
def test_another_number_of_columns_is_refused(scores: object) -> None:
    with pytest.raises(InvalidInputError, match=r"scores: shape .*a column for each of 4 settings"):
        read_score_columns(scores, 4, "scores")
