"""Physics of the exposure against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overread.simulate import draw_patient
from overread.simulate.chest._exposure import (
    COLLIMATED_SHARE,
    blur,
    collimate,
    expose,
    power_law_noise,
    process,
    side_marker,
)
from overread.simulate.chest._patient import stream

SHAPE = (160, 200)
OPEN = np.ones(SHAPE, dtype=np.float32)
PLATE = (120, 100)
PATIENT = draw_patient(0)


def test_without_scatter_and_noise_the_signal_is_the_line_integral():
    thickness = np.full(SHAPE, 2.5, dtype=np.float32)
    clean = replace(PATIENT, scatter_ratio=0.0, quanta=1e12)
    np.testing.assert_allclose(expose(thickness, OPEN, clean, 0.7, stream(0, "q")), 2.5, atol=1e-3)


def test_scatter_lowers_the_contrast():
    step = np.full(SHAPE, 2.0, dtype=np.float32)
    step[:, 100:] = 3.0
    signals = [
        expose(step, OPEN, replace(PATIENT, scatter_ratio=ratio, quanta=1e12), 0.7, stream(0, "q"))
        for ratio in (0.0, 1.0)
    ]
    contrasts = [s[:, 150].mean() - s[:, 50].mean() for s in signals]
    assert contrasts[0] == pytest.approx(1.0, abs=0.01)
    assert contrasts[1] < 0.8


def test_noise_is_that_of_the_quanta():
    flat = np.full(SHAPE, 2.0, dtype=np.float32)
    noisy = expose(flat, OPEN, replace(PATIENT, scatter_ratio=0.0, quanta=4e5), 0.7, stream(1, "q"))
    assert noisy.std() == pytest.approx(1 / np.sqrt(4e5 * 0.49 * np.exp(-2)), rel=0.03)


def test_blur_keeps_the_mean_and_widens_a_point():
    point = np.zeros((201, 201), dtype=np.float32)
    point[100, 100] = 1
    for sigma in (2.0, 15.0):
        soft = blur(point, sigma)
        assert soft.sum() == pytest.approx(1, rel=0.02)
        y = np.arange(201) - 100.0
        assert np.sqrt((soft.sum(axis=1) * y**2).sum() / soft.sum()) == pytest.approx(sigma, rel=0.15)


@pytest.mark.parametrize("exponent", [2.5, 3.2, 4.0])
def test_power_law_noise_has_its_exponent(exponent):
    field = power_law_noise((256, 256), exponent, stream(2, "n"), longest_px=128)
    power = np.abs(np.fft.fft2(field)) ** 2
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    band = (f > 0.04) & (f < 0.4)
    slope = np.polyfit(np.log(f[band]), np.log(power[band]), 1)[0]
    assert -slope == pytest.approx(exponent, abs=0.12)
    assert field.std() == pytest.approx(1, rel=1e-3)


def test_tone_curve_keeps_order_and_range():
    ramp = np.linspace(0, 5, 200, dtype=np.float32)[None, :].repeat(160, axis=0)
    grey = process(ramp, replace(PATIENT, compression=0.0, sharpening=0.0), 0.7, ramp > 1)
    assert grey.min() >= 0
    assert grey.max() <= 1
    assert (np.diff(grey[0]) >= 0).all()


def test_most_plates_are_open_and_none_is_closed_far():
    fields = [collimate(PLATE, 3.5, seed=seed) for seed in range(200)]
    closed = [not field.valid.all() for field in fields]
    assert COLLIMATED_SHARE - 0.12 < np.mean(closed) < COLLIMATED_SHARE + 0.1
    for field in fields:
        assert field.valid[8:-8, 8:-8].all()
        assert 0 <= field.open.min() <= field.open.max() <= 1


def test_the_marker_is_a_small_thing_at_the_upper_right():
    markers = [side_marker(PLATE, 3.5, seed=seed) for seed in range(60)]
    seen = [marker for marker in markers if marker.any()]
    assert 30 < len(seen) < 58
    for marker in seen:
        rows, columns = np.nonzero(marker)
        assert rows.max() < 60
        assert columns.min() > 70
