"""Samples that differ are told apart, samples that do not are not; of an image its best candidate is kept."""

import numpy as np
import pandas as pd
from benchmarks.inserted_or_real import keep_best, keep_like_real, tell_apart


class ByColumn:
    """A model whose score is one feature."""

    feature_names_in_ = ("a",)

    def instance_decision_function(self, table):
        return table["a"].to_numpy()


def sample(seed: int, shift: float, first_patient: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": random.normal(shift, 1, 120),
            "b": random.normal(0, 1, 120),
            "patient": [f"p{first_patient + row}" for row in range(120)],
        }
    )


def test_what_differs_is_told_and_what_does_not_is_not():
    same = tell_apart(sample(0, 0.0, 0), sample(1, 0.0, 500), ["a", "b"])
    other = tell_apart(sample(0, 0.0, 0), sample(1, 2.0, 500), ["a", "b"])
    assert 0.38 < float(same.split()[0]) < 0.62
    # Two normal distributions two deviations apart have an area of 0.92.
    assert abs(float(other.split()[0]) - 0.92) < 0.05


def test_one_candidate_of_each_image_is_kept():
    table = pd.DataFrame(
        {
            "image_id": ["x", "x", "y", "y", "z"],
            "a": [1.0, 3.0, 5.0, 4.0, 9.0],
            "golden": [True, False, False, True, False],
        }
    )
    assert keep_best(table, [ByColumn()])["a"].tolist() == [3.0, 5.0, 9.0]
    assert keep_best(table[table["golden"]], [ByColumn()])["a"].tolist() == [1.0, 4.0]
    assert keep_like_real(table, [ByColumn()])["a"].tolist() == [3.0, 5.0]
