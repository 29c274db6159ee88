"""Counts of neighbours, pixel by pixel."""

import numpy as np
import pytest
from feature_scenes import region

from overread.features import quantize
from overread.features.ibsi._neighbours import count_neighbours


@pytest.mark.parametrize("seed", range(4))
def test_equals_brute_force(seed):
    levels = np.pad(quantize(*region(seed, (11, 14)), n_bins=4), 1)
    dependence, occupied, difference = np.zeros((5, 10)), np.zeros(5), np.zeros(5)
    for y, x in np.argwhere(levels):
        level = levels[y, x]
        around = np.delete(levels[y - 1 : y + 2, x - 1 : x + 2].ravel(), 4)
        dependence[level, 1 + (around == level).sum()] += 1
        if (around > 0).any():
            occupied[level] += 1
            difference[level] += abs(level - around[around > 0].mean())
    found = count_neighbours(levels, 4)
    np.testing.assert_array_equal(found[0][1:], dependence[1:])
    np.testing.assert_array_equal(found[1], occupied)
    np.testing.assert_allclose(found[2], difference, rtol=1e-12)


def test_pixels_without_a_neighbour_are_not_occupied():
    levels = np.zeros((7, 7), np.uint16)
    levels[1, 1], levels[3, 4], levels[5, 1:3] = 2, 2, 1
    dependence, occupied, difference = count_neighbours(levels, 2)
    np.testing.assert_array_equal(dependence[1:, 1:3], [[0, 2], [2, 0]])
    np.testing.assert_array_equal(occupied, [0, 2, 0])
    np.testing.assert_array_equal(difference, [0, 0, 0])
