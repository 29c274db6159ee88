"""Left against right: each feature responds to what its name says."""

import pytest
from response_scenes import left_out, without_response

RESPONSES = [
    (
        "disc",
        "mirrored",
        "symmetry.grey symmetry.contrast symmetry.best_grey symmetry.best_contrast symmetry.curvature",
    ),
    ("disc", "mirrored_brighter", "symmetry.contrast_rank"),
    ("noisy", "mirrored_noise", "symmetry.spread"),
    ("mirrored", "disc", "symmetry.correlation"),
    ("shared_texture", "disc", "symmetry.best_correlation"),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("symmetry", RESPONSES)
