"""Marks as arrays do not depend on the order in which they were given."""

import numpy as np
import pandas as pd

from overread.truth import MergeOptions
from overread.truth._mark_arrays import MarkArrays


def marks(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "image_id": rng.integers(0, 4, n).astype(str),
            "reader_id": rng.integers(0, 3, n).astype(str),
            "mark_id": [f"m{k}" for k in range(n)],
            "x": rng.integers(0, 3, n).astype(float),
            "y": rng.uniform(0, 80, n),
            "semi_major": rng.uniform(1, 9, n),
            "semi_minor": rng.uniform(1, 9, n),
            "angle_deg": rng.uniform(0, 180, n),
            "label": rng.choice(["mass", "nodule"], n),
        }
    )


def test_marks_without_confidence_have_1():
    table = marks()
    assert (MarkArrays.from_table(table, MergeOptions()).confidence == 1.0).all()
    given = table.assign(confidence=np.r_[np.nan, np.full(39, 0.5)])
    arrays = MarkArrays.from_table(given, MergeOptions())
    assert arrays.confidence[arrays.mark_ids == "m0"] == 1.0
    assert arrays.confidence.sum() == 1.0 + 39 * 0.5


def test_parts_are_whole_images():
    arrays = MarkArrays.from_table(marks(), MergeOptions())
    for most in (1, 7, 12, 39, 40, 100):
        parts = list(arrays.parts(most))
        np.testing.assert_array_equal(np.concatenate(parts), np.arange(40))
        images = [set(arrays.image[rows]) for rows in parts]
        assert sum(map(len, images)) == 4
        assert all(len(rows) <= most or len(one) == 1 for rows, one in zip(parts, images, strict=True))
    assert list(arrays.take(np.arange(0)).parts()) == []
