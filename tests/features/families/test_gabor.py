"""Gabor magnitudes against a direct convolution, and on their own waves."""

import numpy as np
import pytest
from scipy import ndimage
from texture_scenes import CENTRE, NAMES, compute, patch_of


def test_gabor_equals_a_direct_convolution(original, texture):
    y, x = np.mgrid[-5:6, -5:6]
    bell = np.exp(-(x**2 + y**2) / 8)
    bell /= bell.sum()
    for angle in (0, 45, 90, 135):
        direction = np.deg2rad(angle)
        kernel = bell * np.exp(0.5j * np.pi * (x * np.cos(direction) - y * np.sin(direction)))
        kernel -= bell * kernel.sum()
        response = patch_of(
            np.abs(ndimage.correlate(texture, kernel.real) + 1j * ndimage.correlate(texture, kernel.imag))
        )
        assert original[f"gabor_mean.w4.a{angle}"] == pytest.approx(response.mean(), rel=1e-4)
        assert original[f"gabor_sd.w4.a{angle}"] == pytest.approx(response.std(), rel=1e-3)


@pytest.mark.parametrize("wave", [4, 8, 16])
@pytest.mark.parametrize("angle", [0, 45, 90, 135])
def test_gabor_answers_its_own_wave(make_context, wave, angle):
    y, x = np.mgrid[:200, :220]
    direction = np.deg2rad(angle)
    grating = np.cos(2 * np.pi * (x * np.cos(direction) - y * np.sin(direction)) / wave)
    found = dict(zip(NAMES, compute(make_context(grating, *CENTRE))[0], strict=True))
    means = {name: found[name] for name in NAMES if name.startswith("gabor_mean")}
    assert max(means, key=means.get) == f"gabor_mean.w{wave}.a{angle}"
