"""First order against numpy and scipy, with ties and outliers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from overread.features import first_order_features
from overread.features.ibsi._first_order import FIRST_ORDER, RANKED_SHARES, first_order


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_first_order_equals_numpy_and_scipy(n):
    x = np.random.default_rng(n).gamma(2.0, size=(1, n)) + 1
    found = first_order_features(x)
    p10, p25, p50, p75, p90 = np.percentile(x, [10, 25, 50, 75, 90])
    middle = x[(x >= p10) & (x <= p90)]
    expected = {
        "mean": x.mean(),
        "variance": x.var(),
        "median": p50,
        "minimum": x.min(),
        "p10": p10,
        "p90": p90,
        "maximum": x.max(),
        "interquartile_range": p75 - p25,
        "range": np.ptp(x),
        "mean_absolute_deviation": np.abs(x - x.mean()).mean(),
        "robust_mean_absolute_deviation": np.abs(middle - middle.mean()).mean() if middle.size else 0.0,
        "median_absolute_deviation": np.abs(x - p50).mean(),
        "coefficient_of_variation": x.std() / x.mean(),
        "quartile_coefficient_of_dispersion": (p75 - p25) / (p75 + p25),
        "energy": (x**2).sum(),
        "root_mean_square": np.sqrt((x**2).mean()),
    }
    if n > 1:
        expected["skewness"] = stats.skew(x.ravel())
        expected["kurtosis"] = stats.kurtosis(x.ravel())
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@settings(max_examples=40)
@given(st.lists(st.sampled_from([-3.0, 0.0, 0.0, 1.0, 1e-9, 1e6]), min_size=1, max_size=60))
def test_percentiles_equal_numpy_with_ties_and_outliers(values):
    x = np.array(values)[None]
    found = first_order_features(x)
    expected = np.percentile(x, [10, 50, 90])
    np.testing.assert_allclose(
        [found["p10"], found["median"], found["p90"]], expected, rtol=1e-12, atol=1e-12
    )


def test_constant_region_and_mean_of_zero():
    constant = first_order_features(np.full((4, 5), 2.5))
    assert constant["mean"] == constant["p90"] == constant["root_mean_square"] == 2.5
    assert constant["skewness"] == constant["kurtosis"] == constant["range"] == 0.0
    assert first_order_features(np.zeros((2, 2)))["coefficient_of_variation"] == 0.0
    assert first_order_features(np.array([[-1.0, 1.0]]))["coefficient_of_variation"] == np.inf


@pytest.mark.parametrize("scale", [1e-44, 1e-30, 1.0, 1e6])
def test_percentiles_of_float32_in_narrow_and_wide_ranges(scale):
    """Buckets are computed in float32, whose numbers end where those of the narrowest ranges begin."""
    x = (np.random.default_rng(0).integers(-40, 90, 501) * scale).astype(np.float32)
    found, out = np.zeros(RANKED_SHARES.size), np.zeros(len(FIRST_ORDER))
    first_order(x, found, out)
    np.testing.assert_allclose(found, np.percentile(x.astype(float), 100 * RANKED_SHARES), rtol=1e-12)
    extremes = dict(zip(FIRST_ORDER, out, strict=True))
    assert (extremes["minimum"], extremes["maximum"]) == (x.min(), x.max())
