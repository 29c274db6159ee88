"""Two habits: rings around clusters, and single lesions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from overread.simulate import Nodule
from overread.simulate._readers import CONFIDENCES, RING_MARGIN, field_readers, mark_field
from overread.simulate.picture._lesions import Cluster

CLEAR = {"conspicuity": 50.0}
CLUSTER = Cluster("bright", tuple(Nodule(100.0 + 15 * k, 100.0, 8.0, **CLEAR) for k in range(4)))
ALONE = Cluster("dark", (Nodule(300.0, 200.0, 10.0, **CLEAR),))


def marks(model, seed=0, clusters=(CLUSTER, ALONE), lookalikes=None):
    random = np.random.default_rng(seed)
    return pd.DataFrame(mark_field(clusters, lookalikes or {}, model, lambda _: (10.0, 20.0), random))


@pytest.mark.parametrize(
    ("splits", "objects"), [(0.0, {"C1", "C2-1"}), (1.0, {*(f"C1-{k}" for k in range(1, 5)), "C2-1"})]
)
def test_a_habit_decides_what_is_drawn(splits, objects):
    model = field_readers(2)
    readers = tuple(replace(reader, splits=splits) for reader in model.readers)
    table = marks(replace(model, readers=readers, false_marks=0.0))
    assert set(table["object_id"]) == objects
    assert table.groupby("reader_id").size().tolist() == [len(objects)] * 2


def test_a_ring_holds_its_lesions():
    model = field_readers(2)
    steady = replace(model, place_jitter=0.0, size_jitter=0.0, shape_jitter=0.0, false_marks=0.0)
    readers = tuple(replace(reader, splits=0.0, size=1.0) for reader in model.readers)
    ring = marks(replace(steady, readers=readers)).query("object_id == 'C1'").iloc[0]
    assert (ring["x_mm"], ring["y_mm"]) == pytest.approx((122.5, 100.0), abs=0.1)
    assert ring["semi_major_mm"] == pytest.approx(RING_MARGIN * (45 + 8) / 2, rel=0.01)


def test_half_of_the_panel_draws_rings():
    splits = [reader.splits for reader in field_readers(6).readers]
    assert sum(one > 0.5 for one in splits) == 3


def test_labels_and_confidence_go_with_the_marks():
    table = pd.concat([marks(field_readers(4), seed) for seed in range(20)])
    assert set(table["confidence"]) <= set(CONFIDENCES)
    meant = table[table["object_id"].str.startswith("C")]
    assert (meant["label"] == meant["object_id"].str[:2].map({"C1": "bright", "C2": "dark"})).all()
    # What is so clear is sure; what is not there is not.
    assert (meant["confidence"] == 1.0).all()
    nothing = table[table["object_id"] == ""]
    assert len(nothing) > 5
    assert nothing["confidence"].mean() < 0.6


def test_lookalikes_are_marked_less_often_than_lesions():
    spot = Nodule(200.0, 50.0, 12.0)
    model = replace(field_readers(4), false_marks=0.0)
    tables = [marks(model, seed, clusters=(ALONE,), lookalikes={"dark": [spot]}) for seed in range(60)]
    told = pd.concat(tables)["object_id"].value_counts()
    assert told["C2-1" if "C2-1" in told else "C1-1"] == 240
    # Phi(-1.3) with a spread of 0.6 and readers around 0: about one in eight.
    assert 10 < told["D-dark-1"] < 60
