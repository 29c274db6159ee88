import numpy as np
import pytest

from overread.domains._scale_space import build_pyramid
from overread.domains.chest._ranking import N_SURROUNDINGS, describe_surroundings
from overread.domains.chest._search import measure_scales

SIDE = 96
MM = 0.7
EVERYWHERE = np.ones((SIDE, SIDE), dtype=bool)
ROW, COLUMN = (part.ravel() for part in np.mgrid[1:SIDE:13, 2:SIDE:11])
TURNS = {
    "a quarter": (lambda image: np.rot90(image), SIDE - 1 - COLUMN, ROW),
    "a half": (lambda image: np.rot90(image, 2), SIDE - 1 - ROW, SIDE - 1 - COLUMN),
    "mirrored": (lambda image: image[:, ::-1], ROW, SIDE - 1 - COLUMN),
}


def described(pixels, row, column):
    """Surroundings at the two finest scales, whose grid is that of the image."""
    scales = measure_scales(build_pyramid(np.ascontiguousarray(pixels), EVERYWHERE, MM))[:2]
    assert all(scale.level.mm_per_px == MM for scale in scales)
    return np.hstack([describe_surroundings(scale, column, row) for scale in scales])


@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_image_has_the_same_surroundings(turn):
    pixels = np.random.default_rng(0).normal(0.5, 0.1, (SIDE, SIDE)).astype(np.float32)
    turned, row, column = TURNS[turn]
    found = described(pixels, ROW, COLUMN)
    assert found.shape == (len(ROW), 2 * N_SURROUNDINGS)
    assert found.std(axis=0).min() > 0
    np.testing.assert_allclose(described(turned(pixels), row, column), found, atol=2e-3)


def test_brightness_added_everywhere_changes_nothing():
    pixels = np.random.default_rng(0).normal(0.5, 0.1, (SIDE, SIDE)).astype(np.float32)
    np.testing.assert_allclose(
        described(pixels + 0.25, ROW, COLUMN), described(pixels, ROW, COLUMN), atol=2e-3
    )


def test_a_flat_image_has_nothing_around():
    found = described(np.full((SIDE, SIDE), 0.5, dtype=np.float32), ROW, COLUMN)
    np.testing.assert_allclose(found[:, : N_SURROUNDINGS - 1], 0, atol=1e-3)
