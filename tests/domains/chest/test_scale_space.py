"""Pyramid, radii and the table that every finder returns."""

import cv2
import numpy as np
import pandas as pd
import pytest
from skimage.feature import peak_local_max
from skimage.transform import downscale_local_mean

from overread.domains import candidate_table, find_peaks
from overread.domains._scale_space import SCALES_MM, build_pyramid, choose_level, measure_radii
from overread.tables import named, read_table, write_table

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


MM = 0.7


def nodule(radius, seed=None, shape=(160, 160)):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    rho = np.hypot((columns - 80) * MM, (rows - 80) * MM) / radius
    image = (0.2 * np.clip(1 - rho**2, 0, None)).astype(np.float32)
    if seed is None:
        return image
    noise = cv2.GaussianBlur(np.random.default_rng(seed).normal(size=shape).astype(np.float32), (0, 0), 3)
    return image + noise * np.float32(0.05 / noise.std())


def radius_at_centre(image):
    place = np.array([80.5 * MM])
    return float(measure_radii(image, place, place, MM)[0])


@pytest.mark.parametrize("radius", [3.5, 5, 8, 12, 15])
def test_the_radius_grows_with_the_nodule_and_is_near_it(radius):
    found = [radius_at_centre(nodule(radius, seed)) for seed in range(15)]
    assert radius / 1.3 < np.median(found) < 1.3 * radius


def test_brightness_and_contrast_scale_do_not_move_it():
    image = nodule(6, 1)
    assert radius_at_centre(image + np.float32(3)) == pytest.approx(radius_at_centre(image))


@pytest.mark.parametrize("x", [0.0, 111.9])
def test_a_place_at_the_border_and_a_constant_image_have_a_radius(x):
    flat = np.full((160, 160), 0.5, dtype=np.float32)
    place = np.array([x])
    assert np.isfinite(measure_radii(flat, place, place, MM)).all()


def test_candidates_are_numbered_and_rounded():
    found = candidate_table(*np.array([[1.23456, 2], [3, 4], [5, 6], [0.12345678, -7]]))
    assert found["candidate_id"].tolist() == ["0001", "0002"]
    assert found[["x", "y", "radius", "response"]].to_numpy().tolist() == [
        [1.235, 3, 5, 0.123457],
        [2, 4, 6, -7],
    ]


def test_the_table_is_read_back_as_it_was_written(tmp_path):
    found = named(candidate_table(*np.random.default_rng(0).random((4, 5))), "mm")
    found.insert(0, "image_id", "one")
    write_table(found, tmp_path / "candidates.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "candidates.csv", "candidates"), found)
