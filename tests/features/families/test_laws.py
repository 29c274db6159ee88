"""Laws energies against scipy."""

import numpy as np
import pytest
from scipy import ndimage
from texture_scenes import patch_of

from overread.features.families.laws import LETTERS, PAIRS, VECTORS


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_equals_scipy(original, texture, a, b):
    first, second = (VECTORS[LETTERS.index(letter)].astype(float) for letter in (a, b))
    responses = [
        patch_of(np.abs(ndimage.correlate(texture, np.outer(down, along)))).mean()
        for down, along in ((first, second), (second, first))
    ]
    name = f"laws_energy.{a.lower()}5{b.lower()}5"
    assert original[name] == pytest.approx(np.mean(responses), rel=1e-4)


def test_vectors():
    """Of one scale, and all but level without an answer to a constant."""
    np.testing.assert_allclose(np.abs(VECTORS).sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(VECTORS.sum(axis=1), [1, 0, 0, 0, 0], atol=1e-7)
