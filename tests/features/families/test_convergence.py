"""Convergence: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("wide", "narrow", "convergence.band_radius"),
    ("line", "disc", "convergence.iris_spread"),
    (
        "disc",
        "nothing",
        "convergence.coin.r70 convergence.coin.r100 convergence.coin.r150 convergence.weighted_coin "
        "convergence.iris_mean convergence.ring.w30 convergence.ring.w50 convergence.ring.w80 "
        "convergence.band_mean.w30 convergence.band_mean.w50 convergence.band_mean.w80",
    ),
    (
        "disc",
        "line",
        "convergence.coin.r100 convergence.weighted_coin convergence.iris_opposite_min "
        "convergence.band_opposite_min.w30 convergence.band_opposite_min.w50 "
        "convergence.band_opposite_min.w80",
    ),
    ("oblong", "disc", "convergence.band_radius_spread"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("convergence", RESPONSES)
