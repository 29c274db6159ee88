"""Candidates on constructed images, with everything a family may look at."""

import sys
from pathlib import Path

import numpy as np
import pytest

from overread.features import Context, ImageMaps

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def make_context():
    """Context from pixels and centres; candidates of radius 8 pixels with round outlines."""

    def make(pixels, row, column, *, mm_per_px=0.7, radius=8.0, outline=None) -> Context:
        from feature_scenes import no_anatomy, radiograph

        row, column = np.atleast_1d(np.asarray(row, float)), np.atleast_1d(np.asarray(column, float))
        if outline is None:
            y, x = np.mgrid[-20:21, -20:21]
            outline = np.repeat((y**2 + x**2 <= radius**2)[None], len(row), axis=0)
        maps = ImageMaps(radiograph(pixels, mm=mm_per_px), no_anatomy(np.shape(pixels)))
        return Context(maps, column, row, np.full(len(row), radius), outline)

    return make


@pytest.fixture(scope="session")
def texture() -> np.ndarray:
    """Power-law noise like that of a lung (beta 3), 200 x 220, between 0 and 1."""
    rng = np.random.default_rng(7)
    y, x = np.meshgrid(np.fft.fftfreq(200), np.fft.fftfreq(220), indexing="ij")
    frequency = np.hypot(x, y)
    frequency[0, 0] = 1
    noise = np.fft.ifft2(np.fft.fft2(rng.normal(size=(200, 220))) / frequency**1.5).real
    # Steps of 2^-12: sums and differences of a few of them are exact in float32.
    return np.round((noise - noise.min()) / np.ptp(noise) * 4096) / 4096


@pytest.fixture(scope="session")
def original(make_context, texture) -> dict[str, float]:
    """Texture features by name of one candidate on `texture`."""
    from feature_scenes import CENTRE, NAMES, compute

    return dict(zip(NAMES, compute(make_context(texture, *CENTRE))[0], strict=True))
