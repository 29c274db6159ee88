"""Place in the lung: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    ("deep", "outside", "lung.inside lung.depth lung.relative_depth"),
    ("deep", "at_border", "lung.depth lung.relative_depth"),
    ("bottom", "top", "lung.height lung.apex_distance"),
    ("top", "bottom", "lung.base_distance"),
    (
        "at_border",
        "medial",
        "lung.laterality lung.mediastinum_distance lung.midline_distance lung.hilum_distance",
    ),
    ("right_side", "disc", "lung.side"),
    ("nipple", "top", "lung.nipple_zone"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("lung", RESPONSES)
