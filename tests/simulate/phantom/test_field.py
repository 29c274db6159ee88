"""Collimator and side marker."""

from __future__ import annotations

import numpy as np

from overread.simulate.phantom.field import COLLIMATED_SHARE, collimate, side_marker

SHAPE = (120, 100)


def test_most_plates_are_open_and_none_is_closed_far():
    fields = [collimate(SHAPE, 3.5, seed=seed) for seed in range(200)]
    closed = [not field.valid.all() for field in fields]
    assert COLLIMATED_SHARE - 0.12 < np.mean(closed) < COLLIMATED_SHARE + 0.1
    for field in fields:
        assert field.valid[8:-8, 8:-8].all()
        assert 0 <= field.open.min() <= field.open.max() <= 1


def test_the_marker_is_a_small_thing_at_the_upper_right():
    markers = [side_marker(SHAPE, 3.5, seed=seed) for seed in range(60)]
    seen = [marker for marker in markers if marker.any()]
    assert 30 < len(seen) < 58
    for marker in seen:
        rows, columns = np.nonzero(marker)
        assert rows.max() < 60
        assert columns.min() > 70
