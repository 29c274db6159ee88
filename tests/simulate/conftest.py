"""A background shared by the tests of this folder."""

import numpy as np
import pytest

from overread.simulate._cases import Background

MM = 0.7


@pytest.fixture(scope="module")
def background() -> Background:
    """Noise on a slope with three bright spots."""
    y, x = np.mgrid[:300, :320] * MM
    pixels = 90 + 0.1 * x + np.random.default_rng(0).normal(0, 4, (300, 320))
    for place in (60, 110, 160):
        pixels += 30 * np.exp(-((x - place) ** 2 + (y - 100) ** 2) / 18)
    lungs = np.zeros(pixels.shape, dtype=bool)
    lungs[30:270, 30:290] = True
    return Background(pixels, MM, lungs, 0.0, 255.0)
