"""Templates: each feature responds to what its name says."""

import numpy as np
import pytest
from response_scenes import left_out, without_response

from overread.features.context._rays import RHO
from overread.features.families.template import _correlations, _fraction_under_minimum, parabola

RESPONSES = [
    (
        "disc",
        "line",
        "template.afum_mean template.afum_max template.afum_at_80 template.parabola template.disc "
        "template.best_size",
    ),
]


@pytest.mark.parametrize(("more", "less", "names"), RESPONSES)
def test_feature_responds(more, less, names):
    assert not without_response(more, less, names)


def test_every_feature_has_a_response():
    assert not left_out("template", RESPONSES)


def test_fraction_under_minimum_equals_brute_force():
    grey = np.random.default_rng(0).random((3, 8, 25)).astype(np.float32)
    grey[:, :, :5] += 0.6
    inner = np.array([3, 8, 13])
    found = _fraction_under_minimum(grey, RHO, inner, 5)
    for c in range(3):
        for a, r in enumerate(inner):
            under = (grey[c, :, r : r + 5] < grey[c, :, :r].min()) * RHO[r : r + 5]
            assert found[c, a] == pytest.approx(under.sum() / (8 * RHO[r : r + 5].sum()))


def test_correlation_with_itself_is_1():
    same = np.broadcast_to(parabola(1.0), (2, 64, 25)).astype(np.float32)
    found = _correlations(np.stack([same[0], -same[0]]), [parabola(1.0)])
    np.testing.assert_allclose(found[:, 0], [1.0, -1.0], atol=1e-4)
    assert _correlations(np.zeros((1, 64, 25), np.float32), [parabola(1.0)])[0, 0] == 0.0
