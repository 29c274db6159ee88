"""Runs, zones, dependences and tone differences of channels against the public functions."""

import numpy as np
import pytest

from overread.features import ibsi
from overread.features.context._channels import N_BINS, QUANTIZED
from overread.features.families.matrices import CHANNELS, MATRICES
from overread.features.ibsi._regions import MATRICES as FORMULAS


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("family", FORMULAS)
def test_equals_the_public_function(make_context, texture, channel, family):
    context = make_context(texture, [99.0, 60.0], [109.0, 120.0])
    names = [feature.name for feature in MATRICES.features]
    values = MATRICES.compute(context)
    for k in range(2):
        levels = context.channels.levels[k, QUANTIZED.index(channel), 1:-1, 1:-1]
        expected = getattr(ibsi, f"{family}_features")(levels, n_levels=N_BINS)
        found = [values[k, names.index(f"{family}_{name}.{channel}")] for name in expected]
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-6)
