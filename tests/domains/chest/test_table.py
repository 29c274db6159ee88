from __future__ import annotations

import numpy as np
import pandas as pd

from overread.domains import candidate_table
from overread.tables import read_table, write_table


def test_candidates_are_numbered_and_rounded():
    found = candidate_table(*np.array([[1.23456, 2], [3, 4], [5, 6], [0.12345678, -7]]))
    assert found["candidate_id"].tolist() == ["0001", "0002"]
    assert found[["x_mm", "y_mm", "radius_mm", "response"]].to_numpy().tolist() == [
        [1.235, 3, 5, 0.123457],
        [2, 4, 6, -7],
    ]


def test_the_table_is_read_back_as_it_was_written(tmp_path):
    found = candidate_table(*np.random.default_rng(0).random((4, 5)))
    found.insert(0, "image_id", "one")
    write_table(found, tmp_path / "candidates.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "candidates.csv", "candidates"), found)


def test_no_candidates_are_a_table_with_columns():
    found = candidate_table(*np.empty((4, 0)))
    assert found.shape == (0, 5)
    assert found["candidate_id"].dtype == "str"
