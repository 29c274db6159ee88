"""Inside against ring, with numpy."""

import numpy as np
import pytest
from texture_scenes import CENTRE, NAMES, compute, patch_of


def test_inside_minus_ring_equals_numpy(make_context, texture):
    outline = np.zeros((1, 21, 21), bool)
    outline[0, 5:15, 8:14] = True
    found = compute(make_context(texture, *CENTRE, radius=6.0, outline=outline))[0]
    y, x = np.mgrid[-14:15, -14:15]
    around = patch_of(texture, 29)
    inside = np.pad(outline[0], 4)
    ring = (x**2 + y**2 <= 14**2) & ~inside
    name = "inside_minus_ring_{}.original"
    assert found[NAMES.index(name.format("mean"))] == pytest.approx(
        around[inside].mean() - around[ring].mean(), abs=1e-6
    )
    expected = np.median(around[inside]) - np.median(around[ring])
    assert found[NAMES.index(name.format("median"))] == pytest.approx(expected, abs=1e-6)


def test_empty_outline_is_the_disc_and_energy_is_per_pixel(make_context, texture):
    empty = np.zeros((1, 21, 21), bool)
    found = compute(make_context(texture, *CENTRE, radius=6.0, outline=empty))[0]
    y, x = np.mgrid[-14:15, -14:15]
    around, square = patch_of(texture, 29), x**2 + y**2
    inside, ring = around[square <= 36], around[(square > 36) & (square <= 14**2)]
    expected = (inside**2).mean() - (ring**2).mean()
    assert found[NAMES.index("inside_minus_ring_energy.original")] == pytest.approx(expected, abs=1e-6)
