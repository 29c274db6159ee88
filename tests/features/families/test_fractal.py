"""Fractal measures on images whose dimension is known."""

import numpy as np
import pytest
from texture_scenes import CENTRE, patch_of

from overread.features.families.fractal import BOXES, FRACTAL


def fractals(make_context, pixels):
    found = FRACTAL.compute(make_context(pixels, *CENTRE))[0]
    return dict(zip((feature.name for feature in FRACTAL.features), found, strict=True))


def test_plane_has_dimension_2(make_context):
    """Changes grow with the lag itself: H = 1."""
    y, x = np.mgrid[:200, :220]
    assert fractals(make_context, 0.01 * x + 0.02 * y)["fractal_dimension_variogram"] == pytest.approx(
        2, abs=1e-4
    )


def test_white_noise_has_dimension_3(make_context):
    """Changes do not grow with the lag: H = 0."""
    noise = np.random.default_rng(0).normal(size=(200, 220))
    assert fractals(make_context, noise)["fractal_dimension_variogram"] == pytest.approx(3, abs=0.03)


def test_rougher_noise_has_the_larger_dimensions(make_context, texture):
    rough = fractals(make_context, np.random.default_rng(0).normal(size=(200, 220)))
    smooth = fractals(make_context, texture)
    for name in ("fractal_dimension_variogram", "fractal_dimension_boxes"):
        assert smooth[name] < rough[name]


def test_boxes_and_lacunarity_equal_numpy(make_context, texture):
    patch = patch_of(texture)
    low, span = patch.min(), np.ptp(patch)
    counts = []
    for size in BOXES:
        n = 63 // size
        boxes = patch.reshape(n, size, n, size).transpose(0, 2, 1, 3).reshape(n * n, -1)
        counts.append((1 + np.ptp(boxes, axis=1) / span * 63 / size).sum())
        if size == 9:
            mass = (boxes - low).sum(axis=1)
            lacunarity = (mass**2).mean() / mass.mean() ** 2
    found = fractals(make_context, texture)
    assert found["fractal_dimension_boxes"] == pytest.approx(
        -np.polyfit(np.log(BOXES), np.log(counts), 1)[0], rel=1e-4
    )
    assert found["lacunarity"] == pytest.approx(lacunarity, rel=1e-4)
