"""Patches against numpy's padding and scipy's interpolation."""

import numpy as np
from feature_scenes import radiograph
from scipy import ndimage

from overread.features.context._patches import CUT, cut_patches

PIXELS = np.random.default_rng(0).random((90, 70)).astype(np.float32)


def test_on_the_default_grid_points_are_pixels():
    """Around the nearest pixel; the image's border goes on."""
    found = cut_patches(radiograph(PIXELS), np.array([5.2, 40.5]), np.array([80.0, 44.49]))
    wide = np.pad(PIXELS, CUT, mode="edge")
    for patch, (row, column) in zip(found, [(80, 5), (44, 41)], strict=True):
        top, left = row + CUT - CUT // 2, column + CUT - CUT // 2
        np.testing.assert_array_equal(patch, wide[top : top + CUT, left : left + CUT])


def test_corners_and_narrow_images():
    for shape in ((3, 200), (200, 3), (2, 2), (150, 140)):
        pixels = np.random.default_rng(1).random(shape).astype(np.float32)
        rows, columns = (np.array([0, size - 1, size // 2, size]) for size in shape)
        found = cut_patches(radiograph(pixels), columns.astype(float), rows.astype(float))
        for patch, row, column in zip(found, rows, columns, strict=True):
            lines, places = (
                np.clip(np.arange(CUT) - CUT // 2 + middle, 0, size - 1)
                for middle, size in zip((row, column), shape, strict=True)
            )
            np.testing.assert_array_equal(patch, pixels[np.ix_(lines, places)])


def test_on_another_grid_points_are_interpolated():
    found = cut_patches(radiograph(PIXELS, mm=1.4), np.array([33.0]), np.array([41.0]))[0]
    offsets = (np.arange(CUT) - CUT // 2) * 0.5
    rows, columns = np.clip(41 + offsets, 0, 89), np.clip(33 + offsets, 0, 69)
    expected = ndimage.map_coordinates(
        PIXELS.astype(float), np.meshgrid(rows, columns, indexing="ij"), order=1
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_wild_values_are_clipped():
    wild = PIXELS.copy()
    wild[45, 35], wild[46, 35] = 3e38, -3e38
    found = cut_patches(radiograph(wild), np.array([35.0]), np.array([45.0]))[0]
    assert (found.max(), found.min()) == (1e6, -1e6)
