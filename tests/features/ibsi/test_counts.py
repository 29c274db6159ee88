"""What matrices of counts share, against numpy."""

import numpy as np
import pytest

from overread.features.ibsi._neighbours import NGLDM
from overread.features.ibsi._runs_zones import (
    EMPHASIS,
    GLRLM,
    GLSZM,
    average_directions,
    emphasis,
    n_log_n,
    n_log_n_table,
    ratio,
)

COUNTS = np.random.default_rng(0).integers(0, 5, (7, 4)).astype(np.int32)
VALUES = np.array([1.0, 2.0, 4.0, 9.0])


def test_logarithms_in_the_table_and_beyond():
    table = n_log_n_table(10)
    assert table[0] == table[1] == 0.0
    assert [n_log_n(n, table) for n in (2, 9, 10, 5000)] == pytest.approx(
        [n * np.log2(n) for n in (2, 9, 10, 5000)], rel=1e-15
    )


def test_ratio():
    assert (ratio(0.0, 0.0), ratio(1.0, 0.0), ratio(1.0, 4.0)) == (0.0, np.inf, 0.25)


def test_emphasis_equals_the_formulas():
    out = np.zeros(len(EMPHASIS))
    emphasis(COUNTS, VALUES, 200, n_log_n_table(64), out)
    found = dict(zip(EMPHASIS, out, strict=True))
    r = COUNTS[1:].astype(float)
    i, j, total = np.arange(1.0, 7.0)[:, None], VALUES, r.sum()
    p = r / total
    assert found["small"] == pytest.approx((p / j**2).sum())
    assert found["large_high"] == pytest.approx((p * i**2 * j**2).sum())
    assert found["small_high"] == pytest.approx((p * i**2 / j**2).sum())
    assert found["large_low"] == pytest.approx((p * j**2 / i**2).sum())
    assert found["level_nonuniformity"] == pytest.approx((r.sum(axis=1) ** 2).sum() / total)
    assert found["normalized_value_nonuniformity"] == pytest.approx((p.sum(axis=0) ** 2).sum())
    assert found["percentage"] == pytest.approx(total / 200)
    assert found["level_variance"] == pytest.approx((p * i**2).sum() - (p * i).sum() ** 2)
    assert found["value_variance"] == pytest.approx((p * j**2).sum() - (p * j).sum() ** 2)
    assert found["entropy"] == pytest.approx(-(p[p > 0] * np.log2(p[p > 0])).sum())
    assert found["energy"] == pytest.approx((p**2).sum())


def test_emphasis_fills_what_there_is_room_for():
    whole, part = np.zeros(len(EMPHASIS)), np.full(3, -1.0)
    emphasis(COUNTS, VALUES, 200, n_log_n_table(64), whole)
    emphasis(COUNTS, VALUES, 200, n_log_n_table(64), part)
    np.testing.assert_array_equal(part, whole[:3])
    emphasis(0 * COUNTS, VALUES, 200, n_log_n_table(64), part)
    assert not part.any()


def test_names_stand_in_one_order():
    """Each family's words for the shared columns: short, small and low are the same place."""
    for formulas, second in ((GLRLM, "run"), (GLSZM, "zone"), (NGLDM, "dependence")):
        for name, column in zip(formulas, EMPHASIS, strict=False):
            if column.startswith(("small", "large")):
                assert second in name
            if column.endswith(("_low", "_high")):
                assert f"{column.rpartition('_')[2]}_level" in name
            if column.endswith(("entropy", "energy", "percentage", "nonuniformity", "variance")):
                assert name.endswith(column.rpartition("_")[2])
    assert len(NGLDM) == len(EMPHASIS) == len(GLRLM) + 1 == len(GLSZM) + 1


def test_average_of_directions():
    found = np.arange(12.0).reshape(4, 3)
    out = np.zeros(2)
    average_directions(found, out)
    np.testing.assert_array_equal(out, found.mean(axis=0)[:2])
