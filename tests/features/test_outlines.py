"""The outlines of candidates: known shapes, the fill, and what must not matter."""

import numpy as np
import pytest
from feature_scenes import MM, candidates, radiograph
from skimage import draw

from overread.features._outlines import best_closed_path, draw_outlines, fill_polygon, patch_side
from overread.images import blur

SHAPE = (140, 160)


EVERYWHERE = np.ones(SHAPE, dtype=bool)


def segment(pixels, *rows, lungs=EVERYWHERE):
    """Outline every candidate on the image smoothed by 1 mm."""
    image, table = radiograph(pixels), candidates(*rows)
    column, row = (image.to_pixels(table[name].to_numpy()) for name in ("x_mm", "y_mm"))
    radius = table["radius_mm"].to_numpy() / MM
    smooth = blur(image.pixels, 1.0 / MM)
    return draw_outlines(smooth, lungs, column, row, radius, side=patch_side(radius))


def blob(column, row, radius, *, ratio=1.0):
    rows, columns = np.indices(SHAPE)
    distance = np.hypot(columns - column, (rows - row) / ratio)
    return 1.0 / (1.0 + np.exp(np.clip(2.0 * (distance - radius), -50, 50)))


def speckle(amount, seed=0):
    return amount * np.random.default_rng(seed).standard_normal(SHAPE)


def dice(first, second):
    return 2.0 * (first & second).sum() / (first.sum() + second.sum())


def drawn(stack, column, row):
    """A patch back on the image."""
    whole = np.zeros(SHAPE, dtype=bool)
    half = stack.shape[0] // 2
    rows, columns = np.nonzero(stack)
    whole[rows + round(row) - half, columns + round(column) - half] = True
    return whole


@pytest.mark.parametrize("given", [0.75, 1.0, 1.3])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_finds_the_object_though_its_size_is_given_wrong(given, ratio):
    column, row, radius = 80.3, 70.2, 14.0
    pixels = 0.3 + 0.2 * blob(column, row, radius, ratio=ratio) + speckle(0.02)
    middle = radius * np.sqrt(ratio)
    found = segment(pixels, ((column + 0.5 + 1.2) * MM, (row + 0.5 - 0.8) * MM, given * middle * MM))
    mask = drawn(found[0], column + 1.2, row - 0.8)
    assert dice(mask, blob(column, row, radius, ratio=ratio) > 0.5) > 0.88


def test_constant_patch_gives_the_circle():
    found = segment(np.full(SHAPE, 0.5), (56.0, 49.0, 8.4))
    assert found[0].sum() * MM**2 == pytest.approx(np.pi * 8.4**2, rel=0.03)


def test_outline_in_the_lung_stays_there():
    """A nodule at the pleura, beside a chest wall that is as bright: the outline does not take the wall in."""
    lungs = np.zeros(SHAPE, dtype=bool)
    lungs[:, :80] = True
    image = 0.3 + 0.2 * blob(68.0, 70.0, 12.0) + 0.2 * (np.indices(SHAPE)[1] >= 80) + speckle(0.01)
    place = 68.5 * MM, 70.5 * MM, 12.0 * MM
    inside = drawn(segment(image, place, lungs=lungs)[0], 68, 70)
    free = drawn(segment(image, place)[0], 68, 70)
    assert (inside & ~lungs).sum() < (free & ~lungs).sum()


def test_grey_scale_does_not_matter():
    pixels = 0.3 + 0.2 * blob(80.0, 70.0, 10.0) + speckle(0.05)
    places = (56.2, 49.1, 7.0), (30.0, 30.0, 5.0)
    first, second = segment(pixels, *places), segment(3.0 * pixels - 1.0, *places)
    assert dice(first, second) > 0.999


def test_patches_at_the_border_end_with_the_image():
    found = segment(speckle(1.0), (0.0, 0.0, 9.0), (112.0, 98.0, 20.0))
    half = found.shape[1] // 2
    assert found[:, half, half].all()
    assert not found[0, : half - 1].any()
    assert not found[0, :, : half - 1].any()


def test_sides_are_odd_and_hold_the_largest():
    for radius in (0.1, 1.0, 7.3, 57.0):
        side = patch_side(np.array([radius]))
        assert side % 2 == 1
        assert side // 2 > radius * 29 / 16
    assert patch_side(np.empty(0)) % 2 == 1


@pytest.mark.parametrize("seed", range(8))
def test_fill_agrees_with_scikit_image(seed):
    random = np.random.default_rng(seed)
    t = 2 * np.pi * np.arange(64) / 64
    r = random.uniform(4, 18, 64)
    xs, ys = 20.37 + r * np.cos(t), 21.21 + r * np.sin(t)
    mask = np.zeros((41, 43), dtype=bool)
    fill_polygon(xs, ys, mask)
    np.testing.assert_array_equal(mask, draw.polygon2mask((41, 43), np.stack([ys, xs], axis=1)))


@pytest.mark.parametrize("seed", range(10))
def test_path_is_the_cheapest_closed_one(seed):
    """Against all closed paths, start by start; the step from the last ray to the first counts too."""
    costs = np.random.default_rng(seed).normal(size=(64, 24))
    path = best_closed_path(costs)
    step = np.abs(np.diff(np.append(path, path[0])))
    assert step.max() <= 2
    total = costs[np.arange(64), path].sum() + 0.25 * step.sum()
    best = np.inf
    moves = np.abs(np.subtract.outer(np.arange(24), np.arange(24)))
    penalty = np.where(moves <= 2, 0.25 * moves, np.inf)
    for start in range(24):
        reached = np.full(24, np.inf)
        reached[start] = costs[0, start]
        for k in range(1, 64):
            reached = (reached[:, None] + penalty).min(axis=0) + costs[k]
        best = min(best, (reached + penalty[:, start]).min())
    assert total == pytest.approx(best, abs=1e-9)
