"""Spiculation: each feature responds to what its name says."""

import numpy as np
import pytest
from response_scenes import left_out, without_response

from overread.features import N_ANGLES
from overread.features.context._rays import RHO
from overread.features.families.spiculation import (
    BINS,
    NORMAL,
    TANGENTIAL,
    ZONE_BORDERS,
    ZONES,
    _angle_sums,
    _gradient_angles,
    entropy,
)

RESPONSES = [
    ("lobed", "disc", "spiculation.rubber_band_depth spiculation.rubber_band_turns"),
    ("disc", "spikes", "spiculation.radial.margin"),
    (
        "spikes",
        "disc",
        "spiculation.tangential.margin spiculation.angle_spread.margin "
        "spiculation.angle_entropy.margin spiculation.rubber_band_ratio",
    ),
    ("blurred", "star_core", "spiculation.radial.core"),
    (
        "star_core",
        "blurred",
        "spiculation.tangential.core spiculation.angle_spread.core spiculation.angle_entropy.core",
    ),
    ("rings", "spikes", "spiculation.radial.surround"),
    ("spikes", "rings", "spiculation.tangential.surround"),
    ("spikes", "glow", "spiculation.angle_spread.surround spiculation.angle_entropy.surround"),
    (
        "spicules",
        "disc",
        "spiculation.ridge_energy.a1 spiculation.ridge_energy.a2 spiculation.ridge_energy.a3",
    ),
    (
        "one_spicule",
        "spicules",
        "spiculation.ridge_peak.a1 spiculation.ridge_peak.a2 spiculation.ridge_peak.a3",
    ),
    ("star_4", "star_7", "spiculation.grating_low"),
    ("star_4", "star_12", "spiculation.grating_low"),
    ("star_7", "star_4", "spiculation.grating_middle"),
    ("star_7", "star_12", "spiculation.grating_middle"),
    ("star_12", "star_4", "spiculation.grating_high"),
    ("star_12", "star_7", "spiculation.grating_high"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("spiculation", RESPONSES)


def test_angle_sums_equal_numpy():
    random = np.random.default_rng(0)
    along, across = random.normal(size=(2, 2, N_ANGLES, RHO.size)).astype(np.float32)
    radius = random.uniform(0.6, 1.2, (2, N_ANGLES))
    found = _angle_sums(along, across, radius, RHO, ZONE_BORDERS)
    phi = np.degrees(np.arctan2(across, -along)) % 360
    rho = RHO / radius[:, :, None]
    for z in range(len(ZONES)):
        zone = (rho >= ZONE_BORDERS[z]) & (rho < ZONE_BORDERS[z + 1])
        for c in range(2):
            weight = np.hypot(along, across)[c] * RHO
            expected = np.histogram(phi[c][zone[c]], BINS, (0, 360), weights=weight[zone[c]])[0]
            np.testing.assert_allclose(found[c, z, :BINS], expected, rtol=1e-5)
            assert found[c, z, NORMAL] == pytest.approx((np.abs(along[c]) * RHO)[zone[c]].sum(), rel=1e-5)
            assert found[c, z, TANGENTIAL] == pytest.approx(
                (np.abs(across[c]) * RHO)[zone[c]].sum(), rel=1e-5
            )


def test_entropy_of_equal_one_and_no_bins():
    histogram = np.array([np.ones(BINS), np.eye(BINS)[0], np.zeros(BINS)])
    np.testing.assert_allclose(entropy(histogram, histogram.sum(axis=1)), [1.0, 0.0, 1.0], atol=1e-12)


def test_inward_gradient_is_radial():
    sums = np.zeros((1, len(ZONES), TANGENTIAL + 1))
    sums[:, :, 0] = sums[:, :, BINS - 1] = 1.0
    found = _gradient_angles(sums)
    assert found["radial.core"][0] == 1.0
    assert found["tangential.core"][0] == 0.0
    assert found["angle_spread.core"][0] == pytest.approx(1 - np.cos(np.pi / 12))
