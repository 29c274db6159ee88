"""Haralick's features of channels against the public function and mahotas."""

import mahotas
import numpy as np
import pytest

from overread.features import glcm_features
from overread.features.context._channels import N_BINS, QUANTIZED
from overread.features.families.glcm import COOCCURRENCE, HARALICK, PAIRS


@pytest.fixture(scope="module")
def context(make_context, texture):
    return make_context(texture, [99.0, 60.0], [109.0, 120.0])


@pytest.fixture(scope="module")
def found(context):
    names = [feature.name for feature in COOCCURRENCE.features]
    return [dict(zip(names, row, strict=True)) for row in COOCCURRENCE.compute(context)]


@pytest.mark.parametrize(("channel", "distance"), PAIRS)
def test_equals_the_public_function(context, found, channel, distance):
    for k, row in enumerate(found):
        levels = context.channels.levels[k, QUANTIZED.index(channel), 1:-1, 1:-1]
        expected = glcm_features(levels, distance=distance, n_levels=N_BINS)
        for name in HARALICK:
            value = row[f"glcm_{name}.{channel}.d{distance}.mean"]
            assert value == pytest.approx(expected[name], rel=1e-6, abs=1e-6), name


@pytest.mark.parametrize("distance", [1, 8])
def test_range_over_directions_equals_mahotas(context, found, distance):
    levels = context.channels.levels[0, 0, 1:-1, 1:-1].astype(np.uint8)
    theirs = np.ptp(mahotas.features.haralick(levels, distance=distance), axis=0)
    # Left out: sum and difference variance, which mahotas takes for something else.
    for position in (0, 1, 2, 3, 4, 5, 7, 8, 10, 11, 12):
        name = f"glcm_{HARALICK[position]}.original.d{distance}.range"
        assert found[0][name] == pytest.approx(theirs[position], rel=1e-4, abs=1e-5), name
