from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from overread.candidates._kernels import softly_suppressed


def by_the_definition(x, y, score, same, near, penalty, limit):
    rows = {i: float(s) for i, s in enumerate(score)}
    fined, chosen = set(), []
    while rows and len(chosen) < limit:
        best = max(rows, key=lambda i: (rows[i], -i))
        chosen.append((best, rows.pop(best)))
        for i in list(rows):
            distance = np.hypot(x[i] - x[best], y[i] - y[best])
            if distance < same:
                del rows[i]
            elif distance < near and i not in fined:
                fined.add(i)
                rows[i] -= penalty
    return chosen


@given(st.integers(0, 40), st.integers(0, 10_000), st.integers(1, 20))
@settings(max_examples=60)
def test_soft_suppression_equals_its_definition(n, seed, limit):
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 30, (2, n)).astype(float)
    score = random.integers(0, 6, n) / 2.0
    chosen, left = softly_suppressed(x, y, score, 4.0, 12.0, 0.7, limit)
    expected = by_the_definition(x, y, score, 4.0, 12.0, 0.7, limit)
    assert chosen.tolist() == [i for i, _ in expected]
    np.testing.assert_allclose(left, [s for _, s in expected])
