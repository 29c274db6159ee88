"""The power law on noise of a known exponent; the transform against numpy."""

import numpy as np
import pytest
from texture_scenes import NAMES, compute

from overread.features.families.power_law import FFT_SIDE, _transform_columns, fit_line


def test_power_law_finds_the_exponent(make_context):
    rng = np.random.default_rng(1)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    f[0, 0] = 1
    for exponent in (1.0, 2.0, 3.0):
        noise = np.fft.ifft2(np.fft.fft2(rng.normal(size=(256, 256))) / f ** (exponent / 2)).real
        centres = np.arange(40, 220, 30.0)
        found = compute(make_context(noise, centres, centres[::-1]))[:, NAMES.index("power_law_exponent")]
        assert found.mean() == pytest.approx(exponent, abs=0.25)


def test_transform_equals_numpy():
    real, imaginary = np.random.default_rng(0).normal(size=(2, FFT_SIDE, FFT_SIDE))
    expected = np.fft.fft(real + 1j * imaginary, axis=0)
    angle = 2 * np.pi * np.arange(FFT_SIDE // 2) / FFT_SIDE
    _transform_columns(real, imaginary, np.cos(angle), np.sin(angle))
    np.testing.assert_allclose(real + 1j * imaginary, expected, atol=1e-11)


def test_line_equals_polyfit():
    x, y = np.random.default_rng(1).normal(size=(2, 30))
    found = np.zeros(3)
    fit_line(x, y, found)
    slope, intercept = np.polyfit(x, y, 1)
    residual = np.sqrt(((y - slope * x - intercept) ** 2).mean())
    np.testing.assert_allclose(found, [slope, intercept, residual], rtol=1e-10)
