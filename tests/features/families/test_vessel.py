"""Vessels: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("vessel", "disc", "vessel.inside"),
    ("four_vessels", "disc", "vessel.surround vessel.count vessel.reach"),
    ("four_vessels", "rings", "vessel.radial_share"),
    ("four_vessels", "one_spicule", "vessel.through vessel.count"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("vessel", RESPONSES)
