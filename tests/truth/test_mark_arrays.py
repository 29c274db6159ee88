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


def test_the_order_given_does_not_matter():
    table = marks()
    one = MarkArrays.from_table(table, MergeOptions())
    two = MarkArrays.from_table(table.sample(frac=1, random_state=1), MergeOptions())
    for name in ("image", "label", "reader", "group", "ellipses", "mark_ids", "confidence"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert len(one) == 40
    assert (np.diff(one.image) >= 0).all()
    assert (one.ellipses[:, 2] >= one.ellipses[:, 3]).all()


def test_a_group_is_an_image_and_a_label():
    table = marks()
    arrays = MarkArrays.from_table(table, MergeOptions())
    named = table.set_index("mark_id").loc[arrays.mark_ids]
    pairs = named["image_id"] + "/" + named["label"]
    assert pairs.groupby(arrays.group).nunique().eq(1).all()
    assert len(set(arrays.group)) == pairs.nunique()
    together = MarkArrays.from_table(table, MergeOptions(labels="ignore"))
    assert together.labels is None
    assert len(set(together.group)) == table["image_id"].nunique()


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
