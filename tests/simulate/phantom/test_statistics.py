"""Statistics: right on images whose answer is known, and alike for phantoms and radiographs."""

import cv2
import numpy as np
import pandas as pd
import pytest
from benchmarks.radiograph_statistics import (
    dark_fields,
    edge_strengths,
    grey_histogram,
    power_law_exponent,
    texture_spectrum,
)
from scipy import signal

from overread.simulate import phantom
from overread.simulate.chest._exposure import power_law_noise
from overread.simulate.chest._patient import stream

REAL_RANGE = (2.9, 3.5)


def exponent_of(pixels, mm_per_px):
    return power_law_exponent(texture_spectrum(pixels, mm_per_px, dark_fields(pixels, mm_per_px)))


@pytest.mark.parametrize("exponent", [2.5, 3.2])
def test_exponent_of_known_noise(exponent):
    noise = power_law_noise((512, 512), exponent, stream(0, "n"), longest_px=300)
    spectrum = texture_spectrum(noise, 0.7, np.ones(noise.shape, dtype=np.bool_))
    assert spectrum.n_patches > 50
    assert power_law_exponent(spectrum) == pytest.approx(exponent, abs=0.15)


def test_power_agrees_with_scipy():
    """White noise of variance v has the power v mm_per_px^2; scipy's periodogram says the same in one dimension."""
    white = np.random.default_rng(0).normal(0, 3, (300, 300))
    spectrum = texture_spectrum(white, 0.5, np.ones(white.shape, dtype=np.bool_))
    _, density = signal.periodogram(white, fs=1 / 0.5, axis=1, window="hann", return_onesided=False)
    assert spectrum.power[5:].mean() == pytest.approx(density.mean() * 0.5, rel=0.05)


def test_histogram_and_edges_of_a_ramp():
    ramp = np.linspace(0, 1, 200)[None, :].repeat(150, axis=0)
    histogram = grey_histogram(ramp, bins=10)
    assert histogram.sum() == pytest.approx(1)
    np.testing.assert_allclose(histogram, 0.1, atol=0.02)
    slope = 1 / 199 / 0.7 / (np.percentile(ramp, 99) - np.percentile(ramp, 1))
    np.testing.assert_allclose(edge_strengths(ramp, 0.7, percentiles=(50, 75)), slope, rtol=1e-3)


def test_dark_fields_are_in_the_lungs_of_most(phantoms):
    shares = []
    for made in phantoms:
        found = dark_fields(made.pixels, made.mm_per_px)
        shares.append((found & made.thorax).sum() / max(found.sum(), 1))
    assert np.median(shares) > 0.8


@pytest.fixture(scope="module")
def exponents_of_phantoms():
    return np.array([exponent_of(phantom(seed=seed).pixels, 0.7) for seed in range(12)])


def test_texture_of_phantoms_is_in_the_range_of_real_lungs(exponents_of_phantoms):
    assert REAL_RANGE[0] < np.nanmedian(exponents_of_phantoms) < REAL_RANGE[1]


def test_texture_of_radiographs_by_the_same_code(shared_data, exponents_of_phantoms):
    images = pd.read_csv(shared_data / "nih" / "images.csv")
    exponents = []
    for row in images[images["finding_labels"] == "No Finding"].iloc[::10].itertuples():
        pixels = cv2.imread(str(shared_data / "nih" / "images" / row.file), cv2.IMREAD_GRAYSCALE).astype(
            float
        )
        sides = (row.mm_per_px_x, row.mm_per_px_y)
        exponents.append(
            power_law_exponent(texture_spectrum(pixels, sides, dark_fields(pixels, np.mean(sides))))
        )
    median = np.nanmedian(exponents)
    assert REAL_RANGE[0] < median < REAL_RANGE[1]
    assert np.nanmedian(exponents_of_phantoms) == pytest.approx(median, abs=0.25)
