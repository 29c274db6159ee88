"""What the detectors say of scenes whose answers are known."""

import numpy as np
import pytest

from overread.domains._scale_space import SCALES_MM
from overread.domains.chest._ranking import (
    N_SURROUNDINGS,
    RESPONSES,
    correlate_template,
    find_places,
    measure_harmonics,
)

MM = 0.7
SIDE = 256
# The middle of a pixel of the level of this width.
CENTRE_MM = 65.5 * 2 * MM
WIDTH_MM = 4.2


def scene(squeeze=1.0):
    """A Gaussian blob, or a ridge along x where it is squeezed."""
    y, x = (np.mgrid[:SIDE, :SIDE] + 0.5) * MM - CENTRE_MM
    return (0.3 + 0.3 * np.exp(-((x / squeeze) ** 2 + y**2) / (2 * WIDTH_MM**2))).astype(np.float32)


def responses_at_centre(image, region=None):
    """Named responses of the place at the centre at the scale of the blob."""
    region = np.ones(image.shape, dtype=bool) if region is None else region
    places = find_places(image, region, MM, per_scale=50)
    apart = np.hypot(places.x_mm - CENTRE_MM, places.y_mm - CENTRE_MM)
    here = np.flatnonzero((apart < 2) & (places.scale == SCALES_MM.index(WIDTH_MM)))
    return dict(zip(RESPONSES, places.responses[here[0]], strict=True))


def test_every_detector_knows_a_round_blob():
    found = responses_at_centre(scene())
    assert found["roundness"] == pytest.approx(1, abs=0.05)
    assert found["falling_share"] == 1
    assert found["convergence"] > 0.99
    assert found["least_axis_convergence"] > 0.97
    assert found["template"] > 0.9
    assert abs(found["edge"]) < 0.05
    assert abs(found["ridge"]) < 0.05
    # The same contrast in all directions.
    assert found["least_axis_contrast"] == pytest.approx(found["median_contrast"], rel=0.02)
    assert 0 < found["profile_0.6"] < found["profile_0.9"] < found["profile_1.2"] < found["profile_1.6"]


def test_a_long_blob_is_a_ridge():
    blob, long = responses_at_centre(scene()), responses_at_centre(scene(squeeze=4.0))
    assert long["roundness"] < 0.3
    assert long["ridge"] > 10 * blob["ridge"]
    assert long["least_axis_contrast"] < 0.5 * long["median_contrast"]
    assert long["curvature_over_image"] < blob["curvature_over_image"]


@pytest.mark.parametrize("margin", [3.5, 7.0, 40.0])
def test_depth_is_the_distance_to_the_border_of_the_region(margin):
    region = np.zeros((SIDE, SIDE), dtype=bool)
    region[:, round((CENTRE_MM - margin) / MM) :] = True
    found = responses_at_centre(scene(), region)
    assert found["depth"] == pytest.approx(min(margin / 15, 1), abs=0.1)


def test_places_are_few_a_scale_and_finite():
    noise = np.random.default_rng(0).random((SIDE, SIDE)).astype(np.float32)
    places = find_places(noise, np.ones(noise.shape, dtype=bool), MM, per_scale=12)
    assert np.bincount(places.scale).tolist() == [12] * len(SCALES_MM)
    assert places.responses.shape == (len(places.x_mm), len(RESPONSES))
    assert places.surroundings.shape == (len(places.x_mm), N_SURROUNDINGS)
    assert np.isfinite(places.responses).all()
    assert np.isfinite(places.surroundings).all()


def test_the_template_correlates_with_itself_and_not_with_a_flat_patch():
    profile = np.maximum(1 - np.array([0.3, 0.6, 0.9, 1.2, 1.6]) ** 2, 0)
    samples = np.broadcast_to(profile, (1, 16, 5)).copy()
    assert correlate_template(5 * samples + 2)[0] == pytest.approx(1, abs=1e-3)
    assert correlate_template(-samples)[0] == pytest.approx(-1, abs=1e-3)
    assert correlate_template(np.ones_like(samples))[0] == pytest.approx(0, abs=1e-6)


def test_harmonics_are_the_root_mean_squares_of_pure_waves():
    angle = 2 * np.pi * np.arange(16) / 16
    for order, name in ((1, "edge"), (2, "ridge")):
        samples = np.zeros((1, 16, 5))
        samples[0, :, 2:] = np.cos(order * angle)[:, None]
        found = measure_harmonics(samples, np.ones(1))
        assert found[name][0] == pytest.approx(np.sqrt(0.5))
        assert found[{"edge": "ridge", "ridge": "edge"}[name]][0] == pytest.approx(0, abs=1e-9)
