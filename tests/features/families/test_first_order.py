"""First order of channels against the public function; bounded ratios."""

import numpy as np
import pytest
from texture_scenes import patch_of

from overread.features import first_order_features
from overread.features.families.first_order import COLUMN, bound_ratios
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES


def test_wavelet_channels_sum_to_the_original(original):
    names = [
        "approximation3",
        *(f"wavelet{level}_{band}" for level in (1, 2, 3) for band in ("hl", "lh", "hh")),
    ]
    total = sum(original[f"first_order_mean.{name}"] for name in names)
    assert total == pytest.approx(original["first_order_mean.original"], rel=1e-5)


def test_original_channel_equals_the_public_function(original, texture):
    public = first_order_features(patch_of(texture))
    for name in FIRST_ORDER:
        if "coefficient" not in name:
            assert original[f"first_order_{name}.original"] == pytest.approx(
                public[name], rel=1e-5, abs=1e-7
            ), name


def test_ratios_are_between_0_and_1():
    x = np.random.default_rng(0).normal(size=(50, 40)) * np.linspace(0, 1, 50)[:, None]
    statistics = np.array([list(first_order_features(row[None]).values()) for row in x])
    percentiles = np.percentile(x, 100 * RANKED_SHARES, axis=1).T
    found = bound_ratios(statistics, percentiles)
    variation = found[:, COLUMN["coefficient_of_variation"]]
    expected = 1 / (1 + np.abs(x[1:].mean(axis=1)) / x[1:].std(axis=1))
    np.testing.assert_allclose(variation[1:], expected, rtol=1e-9)
    assert variation[0] == found[0, COLUMN["quartile_coefficient_of_dispersion"]] == 0.0
    dispersion = found[:, COLUMN["quartile_coefficient_of_dispersion"]]
    assert ((dispersion >= 0) & (dispersion <= 1)).all()
    others = [COLUMN[name] for name in FIRST_ORDER if "coefficient" not in name]
    np.testing.assert_array_equal(found[:, others], statistics[:, others])
