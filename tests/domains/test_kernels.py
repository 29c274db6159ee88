import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from overread.domains._kernels import (
    centre_places,
    measure_band_convergence,
    sample_polar,
    suppress_softly,
)


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


def test_polar_samples_are_those_of_scipy():
    random = np.random.default_rng(0)
    image = random.random((20, 30)).astype(np.float32)
    column, row, radii = random.uniform(0, 29, 7), random.uniform(0, 19, 7), np.array([0.0, 1.5, 4.2, 12.0])
    found = np.empty((7, 8, 4))
    sample_polar(image, column, row, radii, found)
    angle = 2 * np.pi * np.arange(8)[:, None] / 8
    for i in range(7):
        x, y = column[i] + radii * np.cos(angle), row[i] + radii * np.sin(angle)
        expected = map_coordinates(image, [y, x], order=1, mode="nearest")
        np.testing.assert_allclose(found[i], expected, atol=1e-5)


def test_gradients_to_a_centre_converge_fully_and_those_of_a_ramp_not_at_all():
    y, x = np.mgrid[:41, :41].astype(np.float32)
    centre, radii, found = np.array([20.0]), np.arange(3.0, 12.0), np.empty((1, 16))
    measure_band_convergence(20 - x, 20 - y, centre, centre, radii, 3, found)
    np.testing.assert_allclose(found, 1, atol=0.02)
    measure_band_convergence(np.ones_like(x), np.zeros_like(x), centre, centre, radii, 3, found)
    np.testing.assert_allclose(found[0], -np.cos(2 * np.pi * np.arange(16) / 16), atol=1e-5)


def test_the_band_slides_to_where_gradients_converge_most():
    y, x = np.mgrid[:41, :41].astype(np.float32)
    distance = np.hypot(x - 20, y - 20)
    inwards = (distance > 5.5) & (distance < 9.5)
    gx, gy = (np.where(inwards, 20 - part, part - 20).astype(np.float32) for part in (x, y))
    centre, found = np.array([20.0]), np.empty((1, 16))
    for band, expected in ((3, 1.0), (9, -1 / 9)):
        measure_band_convergence(gx, gy, centre, centre, np.arange(3.0, 12.0), band, found)
        np.testing.assert_allclose(found[0, ::4], expected, atol=0.02)
