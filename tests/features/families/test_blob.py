"""Filters at five scales: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("blob_s16", "none_s16", "blob.log.s16 blob.dog.s16 blob.curvature.s16"),
    ("blob_s25", "none_s25", "blob.log.s25 blob.dog.s25 blob.curvature.s25"),
    ("blob_s40", "none_s40", "blob.log.s40 blob.dog.s40 blob.curvature.s40"),
    ("blob_s63", "none_s63", "blob.log.s63 blob.dog.s63 blob.curvature.s63"),
    ("blob_s100", "none_s100", "blob.log.s100 blob.dog.s100 blob.curvature.s100"),
    ("blob_s16", "line_s16", "blob.curvature.s16 blob.roundness.s16 blob.conspicuity.s16"),
    ("blob_s25", "line_s25", "blob.curvature.s25 blob.roundness.s25 blob.conspicuity.s25"),
    ("blob_s40", "line_s40", "blob.curvature.s40 blob.roundness.s40 blob.conspicuity.s40"),
    ("blob_s63", "line_s63", "blob.curvature.s63 blob.roundness.s63 blob.conspicuity.s63"),
    ("blob_s100", "line_s100", "blob.curvature.s100 blob.roundness.s100 blob.conspicuity.s100"),
    ("blob_s16", "crowded_s16", "blob.conspicuity.s16"),
    ("blob_s25", "crowded_s25", "blob.conspicuity.s25"),
    ("blob_s40", "crowded_s40", "blob.conspicuity.s40"),
    ("blob_s63", "crowded_s63", "blob.conspicuity.s63"),
    ("blob_s100", "crowded_s100", "blob.conspicuity.s100"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("blob", RESPONSES)
