"""Contrast and profile: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("bright", "disc", "profile.inside_mean"),
    ("noisy", "disc", "profile.surround_noise"),
    (
        "disc",
        "faint",
        "profile.contrast profile.contrast_off_trend profile.contrast_to_noise profile.peak_to_noise "
        "profile.sector_median",
    ),
    (
        "disc",
        "line",
        "profile.sector_min profile.opposite_min profile.edge_agreement profile.radial_fraction",
    ),
    ("drop_1", "drop_2", "profile.drop_1"),
    ("drop_1", "drop_3", "profile.drop_1"),
    ("drop_1", "drop_4", "profile.drop_1"),
    ("drop_1", "drop_5", "profile.drop_1"),
    ("drop_2", "drop_1", "profile.drop_2"),
    ("drop_2", "drop_3", "profile.drop_2"),
    ("drop_2", "drop_4", "profile.drop_2"),
    ("drop_2", "drop_5", "profile.drop_2"),
    ("drop_3", "drop_1", "profile.drop_3"),
    ("drop_3", "drop_2", "profile.drop_3"),
    ("drop_3", "drop_4", "profile.drop_3"),
    ("drop_3", "drop_5", "profile.drop_3"),
    ("drop_4", "drop_1", "profile.drop_4"),
    ("drop_4", "drop_2", "profile.drop_4"),
    ("drop_4", "drop_3", "profile.drop_4"),
    ("drop_4", "drop_5", "profile.drop_4"),
    ("drop_5", "drop_1", "profile.drop_5"),
    ("drop_5", "drop_2", "profile.drop_5"),
    ("drop_5", "drop_3", "profile.drop_5"),
    ("drop_5", "drop_4", "profile.drop_5"),
    ("disc", "blurred", "profile.edge_sharpness"),
    ("wide", "narrow", "profile.edge_radius"),
    ("line", "disc", "profile.angular_spread"),
    ("edge", "disc", "profile.point_asymmetry"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("profile", RESPONSES)
