from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.candidates._kernels import centre_places, suppress_softly


def by_the_definition(x, y, score, same, near, penalty, n_fined, limit):
    rows = {i: float(s) for i, s in enumerate(score)}
    fined, chosen = set(), []
    while rows and len(chosen) < limit:
        if len(chosen) == n_fined:
            rows = {i: float(score[i]) for i in rows}
        best = max(rows, key=lambda i: (rows[i], -i))
        chosen.append((best, rows.pop(best)))
        for i in list(rows):
            distance = np.hypot(x[i] - x[best], y[i] - y[best])
            if distance < same:
                del rows[i]
            elif distance < near and i not in fined and len(chosen) < n_fined:
                fined.add(i)
                rows[i] -= penalty
    return chosen


@given(st.integers(0, 40), st.integers(0, 10_000), st.integers(0, 8), st.integers(1, 20))
@settings(max_examples=60)
def test_soft_suppression_equals_its_definition(n, seed, n_fined, limit):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 30, (2, n)).astype(float)
    score = random.integers(0, 6, n) / 2.0
    chosen, left = suppress_softly(x, y, score, 4.0, 12.0, 0.7, n_fined, limit)
    expected = by_the_definition(x, y, score, 4.0, 12.0, 0.7, n_fined, limit)
    assert chosen.tolist() == [i for i, _ in expected]
    np.testing.assert_allclose(left, np.minimum.accumulate([s for _, s in expected]))


def test_a_centre_is_the_mean_of_the_places_in_reach_weighted_by_their_odds():
    x, y = np.array([10.0, 12.0, 10.0, 30.0]), np.array([10.0, 10.0, 13.0, 30.0])
    score = np.log([4.0, 2.0, 1.0, 9.0])
    new_x, new_y = centre_places(x, y, score, np.array([0, 3]), np.array([2.5, 4.0]))
    np.testing.assert_allclose(new_x, [(4 * 10 + 2 * 12) / 6, 30.0])
    np.testing.assert_allclose(new_y, [10.0, 30.0])
