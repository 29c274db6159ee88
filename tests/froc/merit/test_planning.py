import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from overread.errors import InvalidInputError
from overread.froc import gts_for_half_width, gts_needed, proportion_interval

TEST_GTS = 104
# Table 1 of the paper, test data, GT sensitivity in per cent at 0.5 .. 3 FP per image.
TABLE = {
    "Soft": [44.23, 55.77, 64.42, 67.31, 71.15, 75.96],
    "B1": [47.12, 57.69, 63.46, 68.27, 69.23, 70.19],
    "B2": [47.12, 60.58, 66.35, 70.19, 77.88, 78.85],
}


def found(percent):
    count = round(percent * TEST_GTS / 100)
    assert round(100 * count / TEST_GTS, 2) == percent
    return count


def mcnemar_p(only_first, only_second):
    return binomtest(only_first, only_first + only_second).pvalue if only_first + only_second else 1.0


@pytest.mark.parametrize(("first", "second"), [("Soft", "B1"), ("Soft", "B2"), ("B1", "B2")])
def test_the_papers_models_cannot_be_told_apart(first, second):
    """At 0.5 FP not even when nested; at more FP not when they miss independently."""
    counts = [(found(a), found(b)) for a, b in zip(TABLE[first], TABLE[second], strict=True)]
    assert mcnemar_p(0, abs(counts[0][1] - counts[0][0])) > 0.2
    for one, other in counts:
        both = round(one * other / TEST_GTS)
        assert mcnemar_p(one - both, other - both) > 0.19


def test_power_by_simulation():
    """As many lesions as gts_needed says find the difference in about 80 % of studies."""
    first, second, psi = 0.6, 0.7, 0.2
    n = gts_needed(first, second, discordant=psi)
    rng = np.random.default_rng(0)
    only_second, only_first = (psi + second - first) / 2, (psi - second + first) / 2
    draws = rng.multinomial(n, [only_first, only_second, 1 - psi], size=4000)
    power = np.mean([mcnemar_p(a, b) < 0.05 for a, b, _ in draws])
    assert 0.74 < power < 0.83


def test_more_agreement_needs_fewer_lesions():
    sizes = [gts_needed(0.44, 0.47, discordant=psi) for psi in (0.03, 0.1, 0.3)]
    assert sizes == sorted(sizes)
    assert gts_needed(0.44, 0.47) > 4000
    assert gts_needed(0.44, 0.54, design_effect=2) == pytest.approx(2 * gts_needed(0.44, 0.54), abs=1)


@given(st.floats(0, 1), st.floats(0.005, 0.45), st.floats(0.5, 0.99))
def test_the_half_width_is_that_of_wilsons_interval(sensitivity, half_width, level):
    n = gts_for_half_width(sensitivity, half_width, level=level)

    def reached(lesions):
        lower, upper = proportion_interval(sensitivity * lesions, lesions, level)
        return (upper - lower) / 2

    assert reached(n) <= half_width + 1e-9
    if n > 1:
        assert reached(n - 1) > half_width - 1e-9


def test_the_textbooks_number_of_lesions():
    """Zhou, Obuchowski, McClish 2011, section 6.1: z^2 p (1 - p) / h^2, and a factor 1 + (s - 1) r for clusters."""
    textbook = norm.isf(0.025) ** 2 * 0.7 * 0.3 / 0.05**2
    assert gts_for_half_width(0.7, 0.05) == pytest.approx(textbook, rel=0.02)
    clustered = gts_for_half_width(0.7, 0.05, design_effect=1 + (1.25 - 1) * 0.5)
    assert clustered == pytest.approx(1.125 * textbook, rel=0.02)
    assert gts_for_half_width(0.97, 0.03) > norm.isf(0.025) ** 2 * 0.97 * 0.03 / 0.03**2


def test_refusals_of_half_widths():
    for arguments, options in [
        ((1.2, 0.05), {}),
        ((0.5, 0.0), {}),
        ((0.5, 5.0), {}),
        ((0.5, 0.05), {"level": 1.0}),
        ((0.5, 0.05), {"design_effect": 0.0}),
    ]:
        with pytest.raises(InvalidInputError):
            gts_for_half_width(*arguments, **options)


def test_refusals():
    for arguments, options in [
        ((0.5, 0.5), {}),
        ((0.5, 1.5), {}),
        ((0.5, 0.6), {"discordant": 0.05}),
        ((0.5, 0.6), {"power": 1.0}),
        ((0.5, 0.6), {"level": 0.05}),
        ((0.5, 0.6), {"design_effect": -1}),
        ((0.5, 0.6), {"design_effect": 0.0}),
        ((0.5, 0.6), {"design_effect": float("nan")}),
    ]:
        with pytest.raises(InvalidInputError):
            gts_needed(*arguments, **options)
