from __future__ import annotations

import numpy as np
import pytest
from skimage.feature import peak_local_max
from skimage.transform import downscale_local_mean

from overread.domains import find_peaks
from overread.domains._scale_space import SCALES_MM, build_pyramid, choose_level

IMAGE = np.random.default_rng(0).random((96, 64)).astype(np.float32)
EVERYWHERE = np.ones(IMAGE.shape, dtype=bool)


def test_levels_are_means_of_blocks():
    levels = build_pyramid(IMAGE, EVERYWHERE, 0.7)
    assert len(levels) == 3
    for depth, level in enumerate(levels):
        assert level.mm_per_px == 0.7 * 2**depth
        np.testing.assert_allclose(level.image, downscale_local_mean(IMAGE, (2**depth,) * 2), rtol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 300), (95, 61)])
def test_an_image_of_any_shape_is_continued_by_its_border_and_what_was_added_is_no_region(shape):
    image = np.random.default_rng(0).random(shape).astype(np.float32)
    finest = build_pyramid(image, np.ones(shape, dtype=bool), 0.7)[0]
    rows, columns = shape
    assert all(size % 4 == 0 for size in finest.image.shape)
    np.testing.assert_array_equal(finest.image[:rows, :columns], image)
    np.testing.assert_array_equal(finest.image[rows:, :columns], image[-1:].repeat(-rows % 4, axis=0))
    assert finest.region.sum() == rows * columns


@pytest.mark.parametrize("mm", [0.2, 0.7, 3.0, 10.0])
def test_a_scale_is_computed_on_the_coarsest_level_that_resolves_it(mm):
    levels = build_pyramid(IMAGE, EVERYWHERE, mm)
    for sigma in SCALES_MM:
        chosen = choose_level(levels, sigma)
        coarser = [level for level in levels if level.mm_per_px > chosen.mm_per_px]
        assert all(2 * level.mm_per_px > sigma for level in coarser)
        assert 2 * chosen.mm_per_px <= sigma or chosen is levels[0]


def test_peaks_are_those_of_scikit_image_the_largest_first():
    where = np.zeros(IMAGE.shape, dtype=bool)
    where[5:-5, 5:-5] = True
    row, column = find_peaks(IMAGE, where, limit=10_000)
    peer = peak_local_max(IMAGE, min_distance=1, exclude_border=False)
    expected = {(r, c) for r, c in peer.tolist() if where[r, c]}
    assert set(zip(row.tolist(), column.tolist(), strict=True)) == expected
    assert (np.diff(IMAGE[row, column]) <= 0).all()
    few = find_peaks(IMAGE, where, limit=7)
    np.testing.assert_array_equal(few, (row[:7], column[:7]))
