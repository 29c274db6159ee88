"""Ribs and clavicles: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("on_rib", "beside_rib", "ribs.at_centre ribs.label ribs.overlap ribs.difference"),
    ("far_from_rib", "beside_rib", "ribs.distance"),
    ("beside_rib", "on_rib", "ribs.distance"),
    ("along_rib", "across_rib", "ribs.alignment"),
    ("across_rib", "along_rib", "ribs.angle"),
    ("crossing_ribs", "parallel_ribs", "ribs.crossing"),
    ("on_clavicle", "off_clavicle", "ribs.clavicle_overlap"),
    ("off_clavicle", "on_clavicle", "ribs.clavicle_distance"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("ribs", RESPONSES)
